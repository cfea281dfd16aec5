//! As Gemini would judge it.

use jm_providers::{GEMINI_SCHEMA_WORDS, ModelInfo, ThinkingStyle};
use serde_json::Value;

use super::claims::{Checked, SeenRequest, answered, claim, list, listed, names, text};
use crate::signature::sign;

/// The stand-in for a signature where another model made the call.
const UNSIGNED: &str = "skip_thought_signature_validator";

pub(super) fn check(body: &Value, model: &ModelInfo) -> Checked<SeenRequest> {
    let declarations: Vec<&Value> = listed(body, "tools")
        .iter()
        .flat_map(|tool| listed(tool, "functionDeclarations"))
        .collect();
    for declaration in &declarations {
        declaration.get("parameters").map_or(Ok(()), schema)?;
    }
    let system = listed(&body["systemInstruction"], "parts");
    let mut seen = SeenRequest {
        system: system.iter().filter_map(|part| part["text"].as_str()).collect(),
        tools: names(declarations.into_iter().map(|one| text(one, "name")))?,
        ..SeenRequest::default()
    };
    let contents = list(body, "contents")?;
    claim(!contents.is_empty(), || "contents are not specified".to_owned())?;
    let mut open: Vec<String> = Vec::new();
    let signs = model.thinking.unwrap_or(ThinkingStyle::Level) == ThinkingStyle::Level;
    for (number, content) in contents.iter().enumerate() {
        let wanted = if number % 2 == 0 { "user" } else { "model" };
        let role = text(content, "role")?;
        claim(role == wanted, || format!("contents[{number}] is of the {role}, not the {wanted}"))?;
        let parts = list(content, "parts")?;
        claim(!parts.is_empty(), || format!("contents[{number}].parts is empty"))?;
        match role {
            "user" => user(parts, &open, &mut seen)?,
            _ => open = said_by_model(parts, signs)?,
        }
    }
    claim(open.is_empty() || contents.len() % 2 == 1, || "calls without responses".to_owned())?;
    Ok(seen)
}

fn user(parts: &[Value], open: &[String], seen: &mut SeenRequest) -> Checked<()> {
    let mut answers = Vec::new();
    let mut words = String::new();
    seen.results.clear();
    for part in parts {
        if let Some(response) = part.get("functionResponse") {
            claim(words.is_empty(), || "responses come before text".to_owned())?;
            let object = response["response"].is_object();
            claim(object, || "`response` must be an object".to_owned())?;
            let id = response["id"].as_str().unwrap_or_default();
            answers.push(format!("{}#{id}", text(response, "name")?));
            seen.results.push(result(&response["response"]));
        } else if part.get("inlineData").is_none() {
            let said = text(part, "text")?;
            claim(!said.is_empty(), || format!("a part must hold something: {part}"))?;
            words.push_str(said);
        }
    }
    if !words.is_empty() {
        seen.user = words;
    }
    answered(open, &answers)
}

/// The text of a result that was wrapped, or the object as it is.
fn result(response: &Value) -> String {
    let wrapped = response["output"].as_str().or(response["error"].as_str());
    wrapped.map_or_else(|| response.to_string(), str::to_owned)
}

fn said_by_model(parts: &[Value], signs: bool) -> Checked<Vec<String>> {
    let mut calls = Vec::new();
    for part in parts {
        let Some(call) = part.get("functionCall") else {
            claim(holds_something(part), || format!("a part must hold something: {part}"))?;
            continue;
        };
        let signature = part["thoughtSignature"].as_str();
        let missing = signs && calls.is_empty() && signature.is_none();
        claim(!missing, || format!("Function call is missing a thought_signature: {part}"))?;
        let signed = sign(&format!("{}{}", text(call, "name")?, call["args"]));
        let valid = |signature: &str| signature == UNSIGNED || signature == signed;
        claim(signature.is_none_or(valid), || format!("Corrupted thought signature: {part}"))?;
        claim(call["args"].is_object(), || "`args` must be an object".to_owned())?;
        let id = call["id"].as_str().unwrap_or_default();
        calls.push(format!("{}#{id}", text(call, "name")?));
    }
    Ok(calls)
}

/// A text may be empty where it carries a signature.
fn holds_something(part: &Value) -> bool {
    let is_blank = part.get("text").is_some_and(|text| text.as_str().is_none_or(str::is_empty));
    let fields = part.as_object().map_or(0, serde_json::Map::len);
    fields > 0 && (!is_blank || part.get("thoughtSignature").is_some())
}

fn schema(schema: &Value) -> Checked<()> {
    let Some(node) = schema.as_object() else { return Err(format!("no schema: {schema}")) };
    for (word, value) in node {
        claim(GEMINI_SCHEMA_WORDS.contains(&word.as_str()), || format!("unknown name \"{word}\""))?;
        match (word.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                properties.values().try_for_each(self::schema)?;
            }
            ("items", items) => self::schema(items)?,
            ("anyOf", Value::Array(options)) => options.iter().try_for_each(self::schema)?,
            ("type", kind) => claim(kind.is_string(), || "`type` must be one word".to_owned())?,
            ("enum", Value::Array(values)) => {
                claim(values.iter().all(Value::is_string), || "an enum holds texts".to_owned())?;
            }
            _ => {}
        }
    }
    Ok(())
}
