//! As Chat Completions would judge it.

use serde_json::Value;

use super::claims::{Checked, SeenRequest, answered, claim, fits_id, list, listed, names, text};

pub(super) fn check(body: &Value) -> Checked<SeenRequest> {
    text(body, "model")?;
    claim(body["stream"] == Value::Bool(true), || "`stream` must be true".to_owned())?;
    let tools = names(listed(body, "tools").iter().map(|tool| text(&tool["function"], "name")))?;
    let mut seen = SeenRequest { tools, ..SeenRequest::default() };
    let messages = list(body, "messages")?;
    claim(!messages.is_empty(), || "`messages` must not be empty".to_owned())?;
    let mut open: Vec<String> = Vec::new();
    let mut answers: Vec<String> = Vec::new();
    for message in messages {
        let role = text(message, "role")?;
        if role == "tool" {
            let id = text(message, "tool_call_id")?.to_owned();
            claim(open.contains(&id), || format!("a result for `{id}`, which was not called"))?;
            if answers.is_empty() {
                seen.results.clear();
            }
            answers.push(id);
            seen.results.push(text(message, "content")?.to_owned());
            continue;
        }
        answered(&open, &answers)?;
        open.clear();
        answers.clear();
        match role {
            "system" => seen.system = text(message, "content")?.to_owned(),
            "user" => seen.user = user(message)?,
            "assistant" => open = assistant(message)?,
            other => return Err(format!("`{other}` is no role")),
        }
    }
    answered(&open, &answers)?;
    Ok(seen)
}

fn user(message: &Value) -> Checked<String> {
    let words: String = match &message["content"] {
        Value::String(words) => words.clone(),
        Value::Array(parts) => {
            claim(!parts.is_empty(), || "a user's message must not be empty".to_owned())?;
            for part in parts.iter().filter(|part| part["type"] == "text") {
                text(part, "text")?;
            }
            parts.iter().filter_map(|part| part["text"].as_str()).collect()
        }
        other => return Err(format!("`content` must be a text or a list: {other}")),
    };
    Ok(words)
}

fn assistant(message: &Value) -> Checked<Vec<String>> {
    let calls = listed(message, "tool_calls");
    let is_listed = message.get("tool_calls").is_some();
    claim(!is_listed || !calls.is_empty(), || "[] is too short - 'tool_calls'".to_owned())?;
    let silent = message["content"].as_str().is_none_or(str::is_empty);
    claim(!(silent && calls.is_empty()), || "an assistant's message must not be empty".to_owned())?;
    let mut ids: Vec<String> = Vec::new();
    for call in calls {
        let id = text(call, "id")?;
        claim(fits_id(id), || format!("`{id}` is no id"))?;
        claim(!ids.iter().any(|one| one == id), || format!("the id `{id}` is given twice"))?;
        claim(call["type"] == "function", || "`type` must be `function`".to_owned())?;
        claim(fits_id(text(&call["function"], "name")?), || "`name` is no name".to_owned())?;
        text(&call["function"], "arguments")?;
        ids.push(id.to_owned());
    }
    Ok(ids)
}
