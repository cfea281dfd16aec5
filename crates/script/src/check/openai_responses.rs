//! As OpenAI's Responses would judge it.

use std::collections::BTreeSet;

use serde_json::Value;

use super::claims::{Checked, SeenRequest, answered, claim, fits_id, list, listed, names, text};
use crate::signature::sign;

pub(super) fn check(body: &Value) -> Checked<SeenRequest> {
    text(body, "model")?;
    claim(body["stream"] == Value::Bool(true), || "`stream` must be true".to_owned())?;
    for tool in listed(body, "tools").iter().filter(|tool| tool["strict"] == Value::Bool(true)) {
        strict(&tool["parameters"]).map_err(|why| format!("invalid schema for {tool}: {why}"))?;
    }
    let tools = names(listed(body, "tools").iter().map(|tool| text(tool, "name")))?;
    let system = body["instructions"].as_str().unwrap_or_default().to_owned();
    let mut input =
        Input { seen: SeenRequest { system, tools, ..SeenRequest::default() }, ..Input::default() };
    let items = list(body, "input")?;
    for (place, item) in items.iter().enumerate() {
        input.item(item)?;
        let follows = items.get(place + 1).is_some_and(of_the_model);
        let alone = item["type"] == "reasoning" && !follows;
        claim(!alone, || format!("reasoning without its required following item: {item}"))?;
    }
    answered(&input.open, &input.answers)?;
    Ok(input.seen)
}

fn of_the_model(item: &Value) -> bool {
    item["type"] != "function_call_output" && item["role"] != "user"
}

/// The list of items so far.
#[derive(Default)]
struct Input {
    seen: SeenRequest,
    ids: BTreeSet<String>,
    open: Vec<String>,
    answers: Vec<String>,
}

impl Input {
    fn item(&mut self, item: &Value) -> Checked<()> {
        let kind = item["type"].as_str().unwrap_or("message");
        if kind == "function_call_output" {
            let id = text(item, "call_id")?.to_owned();
            claim(self.open.contains(&id), || format!("no tool call found for output {id}"))?;
            if self.answers.is_empty() {
                self.seen.results.clear();
            }
            self.answers.push(id);
            self.seen.results.push(text(item, "output")?.to_owned());
            return Ok(());
        }
        // What the model says comes before its results, and what follows them comes after all.
        if !self.answers.is_empty() || (kind == "message" && item["role"] == "user") {
            answered(&self.open, &self.answers)?;
            self.open.clear();
            self.answers.clear();
        }
        match kind {
            "message" => self.message(item),
            "function_call" => {
                let id = text(item, "call_id")?;
                claim(fits_id(id), || format!("`{id}` is no id"))?;
                claim(self.ids.insert(id.to_owned()), || format!("duplicate call_id {id}"))?;
                claim(fits_id(text(item, "name")?), || "`name` is no name".to_owned())?;
                text(item, "arguments")?;
                self.open.push(id.to_owned());
                Ok(())
            }
            "reasoning" => {
                let said = listed(item, "summary");
                let said: String = said.iter().filter_map(|part| part["text"].as_str()).collect();
                let sealed = sign(&format!("{}{said}", text(item, "id")?));
                let whole = text(item, "encrypted_content")? == sealed;
                claim(whole, || format!("the encrypted content could not be verified: {item}"))
            }
            // Kinds that this server sent itself come back.
            _ => Ok(()),
        }
    }

    fn message(&mut self, item: &Value) -> Checked<()> {
        let words = match &item["content"] {
            Value::String(words) => words.clone(),
            Value::Array(parts) if parts.is_empty() => return Err("an empty message".to_owned()),
            Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
            other => return Err(format!("`content` must be a text or a list: {other}")),
        };
        match text(item, "role")? {
            "user" => self.seen.user = words,
            "assistant" => claim(!words.is_empty(), || "an empty message".to_owned())?,
            other => return Err(format!("`{other}` is no role")),
        }
        Ok(())
    }
}

/// All properties required, nothing else allowed, all the way down.
fn strict(schema: &Value) -> Checked<()> {
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        let closed = schema["additionalProperties"] == Value::Bool(false);
        claim(closed, || "`additionalProperties` must be false".to_owned())?;
        let required: BTreeSet<&str> =
            listed(schema, "required").iter().filter_map(Value::as_str).collect();
        let all = properties.keys().all(|key| required.contains(key.as_str()));
        claim(all, || "`required` must name every property".to_owned())?;
        properties.values().try_for_each(strict)?;
    }
    schema.get("items").map_or(Ok(()), strict)?;
    listed(schema, "anyOf").iter().try_for_each(strict)
}
