//! As Anthropic would judge it.

use std::collections::BTreeSet;

use serde_json::Value;

use super::claims::{Checked, SeenRequest, answered, claim, fits_id, list, listed, names, text};
use crate::signature::sign;

pub(super) fn check(body: &Value) -> Checked<SeenRequest> {
    text(body, "model")?;
    let most = body.get("max_tokens").and_then(Value::as_u64).unwrap_or(0);
    claim(most > 0, || "`max_tokens` must be positive".to_owned())?;
    claim(body["stream"] == Value::Bool(true), || "`stream` must be true".to_owned())?;
    let budget = body["thinking"].get("budget_tokens").and_then(Value::as_u64);
    if let Some(budget) = budget {
        let fits = (1024..most).contains(&budget);
        claim(fits, || format!("`budget_tokens` {budget} must be 1024 or more and below {most}"))?;
    }
    let marks = body.to_string().matches("\"cache_control\":{").count();
    claim(marks <= 4, || format!("{marks} cache breakpoints; at most 4 are allowed"))?;
    let mut seen = SeenRequest { tools: tools(body)?, ..SeenRequest::default() };
    for block in listed(body, "system") {
        seen.system.push_str(said(block, "text")?);
    }
    messages(list(body, "messages")?, budget.is_some(), &mut seen)?;
    Ok(seen)
}

fn tools(body: &Value) -> Checked<Vec<String>> {
    for tool in listed(body, "tools") {
        let object = tool["input_schema"]["type"] == "object";
        claim(object, || format!("`input_schema` must be an object: {tool}"))?;
    }
    names(listed(body, "tools").iter().map(|tool| text(tool, "name")))
}

fn messages(messages: &[Value], thinks: bool, seen: &mut SeenRequest) -> Checked<()> {
    claim(!messages.is_empty(), || "`messages` must not be empty".to_owned())?;
    let mut ids = BTreeSet::new();
    let mut open: Vec<String> = Vec::new();
    for (number, message) in messages.iter().enumerate() {
        let wanted = if number % 2 == 0 { "user" } else { "assistant" };
        let role = text(message, "role")?;
        claim(role == wanted, || format!("messages.{number} is of the {role}, not the {wanted}"))?;
        let blocks = list(message, "content")?;
        claim(!blocks.is_empty(), || format!("messages.{number} is empty"))?;
        match role {
            "user" => user(blocks, &open, seen)?,
            _ => open = assistant(blocks, &mut ids)?,
        }
    }
    if thinks && !open.is_empty() {
        let first = messages.iter().rev().find(|message| message["role"] == "assistant");
        let kind = first.map(|message| &message["content"][0]["type"]);
        let begins = kind.is_some_and(|kind| kind == "thinking" || kind == "redacted_thinking");
        claim(begins, || format!("expected `thinking` first, but found {kind:?}"))?;
    }
    let last = messages.len() % 2 == 1;
    claim(last, || "the last message must be the user's: prefill is not supported".to_owned())
}

fn user(blocks: &[Value], open: &[String], seen: &mut SeenRequest) -> Checked<()> {
    let mut answers = Vec::new();
    let mut words = String::new();
    seen.results.clear();
    for block in blocks {
        match text(block, "type")? {
            "tool_result" => {
                claim(words.is_empty(), || "results come before text".to_owned())?;
                answers.push(text(block, "tool_use_id")?.to_owned());
                seen.results.push(result(block)?.to_owned());
            }
            "text" => words.push_str(said(block, "text")?),
            "image" => claim(block["source"]["data"].is_string(), || "no image".to_owned())?,
            other => return Err(format!("a user has no block of the type `{other}`")),
        }
    }
    if !words.is_empty() {
        seen.user = words;
    }
    answered(open, &answers)
}

/// The words of a result. A success may have none, an error may not.
fn result(block: &Value) -> Checked<&str> {
    let words = text(block, "content")?;
    let fits = !words.is_empty() || block["is_error"] != Value::Bool(true);
    claim(fits, || "tool_result: content cannot be empty if `is_error` is true".to_owned())?;
    Ok(words)
}

fn assistant(blocks: &[Value], ids: &mut BTreeSet<String>) -> Checked<Vec<String>> {
    let thought = blocks.last().is_some_and(|block| block["type"] == "thinking");
    claim(!thought, || "the final block must not be `thinking`".to_owned())?;
    let mut calls = Vec::new();
    for block in blocks {
        match text(block, "type")? {
            "text" => drop(said(block, "text")?),
            "thinking" => {
                let signed = text(block, "signature")? == sign(text(block, "thinking")?);
                claim(signed, || format!("invalid `signature` in a thinking block: {block}"))?;
            }
            "tool_use" => {
                let id = text(block, "id")?;
                claim(fits_id(id), || format!("`{id}` is no id"))?;
                claim(ids.insert(id.to_owned()), || "`tool_use` ids must be unique".to_owned())?;
                claim(block["input"].is_object(), || "`input` must be an object".to_owned())?;
                claim(fits_id(text(block, "name")?), || "`name` is no name".to_owned())?;
                calls.push(id.to_owned());
            }
            // Kinds that this server sent itself come back.
            _ => {}
        }
    }
    Ok(calls)
}

fn said<'a>(block: &'a Value, key: &str) -> Checked<&'a str> {
    let words = text(block, key)?;
    claim(!words.trim().is_empty(), || "text content blocks must be non-empty".to_owned())?;
    Ok(words)
}
