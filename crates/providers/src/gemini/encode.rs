//! A request as Gemini wants it: one content a turn, and every signed part back where it was.

use jm_types::{Part, ToolDefinition};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::adapter::Recipient;
use crate::history::{Answer, Said, Turn, turns};
use crate::json::Json;
use crate::models::ThinkingStyle;
use crate::request::{ModelRequest, Parameters, Thinking};
use crate::schema;
use crate::tools::{Dialect, Written};

/// The stand-in for a signature, on a call that another model made.
const UNSIGNED: &str = "skip_thought_signature_validator";

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Body {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<Written>,
    contents: Vec<Content>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    generation_config: Map<String, Value>,
}

#[derive(Debug, Serialize)]
struct Content {
    role: &'static str,
    parts: Vec<Json>,
}

pub(crate) fn encode(request: &ModelRequest, reader: Recipient<'_>) -> serde_json::Result<Body> {
    let write = |all: &[ToolDefinition]| {
        let declarations: Vec<Value> = all.iter().map(tool).collect();
        json!([{"functionDeclarations": declarations}])
    };
    let instruction =
        (!request.system.trim().is_empty()).then(|| json!({"parts": [{"text": request.system}]}));
    let turns = turns(&request.messages, reader.provider, reader.model);
    Ok(Body {
        system_instruction: instruction,
        tools: request.tools.written(Dialect::Gemini, write)?,
        contents: turns.iter().map(|turn| content(turn, reader)).collect(),
        generation_config: generation_config(&request.parameters_for(reader.provider), reader),
    })
}

fn tool(tool: &ToolDefinition) -> Value {
    let mut declaration = json!({"name": tool.name, "description": tool.description});
    let empty = tool.parameters.get("properties").and_then(Value::as_object);
    match schema::gemini(&tool.parameters) {
        Some(parameters) => declaration["parameters"] = parameters,
        // A function without parameters says nothing about them.
        None if empty.is_none_or(Map::is_empty) => {}
        None => declaration["parametersJsonSchema"] = tool.parameters.clone(),
    }
    declaration
}

fn generation_config(parameters: &Parameters, reader: Recipient<'_>) -> Map<String, Value> {
    let mut config = Map::new();
    if let Some(most) = parameters.max_tokens {
        config.insert("maxOutputTokens".to_owned(), json!(most));
    }
    if let Some(temperature) = parameters.temperature {
        config.insert("temperature".to_owned(), json!(temperature));
    }
    if let Some(thinking) = thinking(parameters, reader) {
        config.insert("thinkingConfig".to_owned(), thinking);
    }
    config
}

fn thinking(parameters: &Parameters, reader: Recipient<'_>) -> Option<Value> {
    let style = reader.info.thinking.unwrap_or(ThinkingStyle::Level);
    let shown = |key: &str, value: Value| json!({"includeThoughts": true, key: value});
    match (parameters.thinking_budget, &parameters.reasoning, parameters.thinking) {
        _ if style == ThinkingStyle::None => None,
        (Some(budget), _, _) => Some(shown("thinkingBudget", json!(budget))),
        (None, Some(word), _) => Some(shown("thinkingLevel", json!(word.to_uppercase()))),
        (None, None, None) => None,
        (None, None, Some(level)) => match (style, level.budget()) {
            (ThinkingStyle::Budget, Some(budget)) => Some(shown("thinkingBudget", json!(budget))),
            (ThinkingStyle::Budget, None) => Some(json!({"thinkingBudget": 0})),
            (_, _) => Some(shown("thinkingLevel", json!(word(level)))),
        },
    }
}

/// These models cannot stop thinking; the least they know is minimal.
fn word(level: Thinking) -> &'static str {
    match level {
        Thinking::Off | Thinking::Minimal => "MINIMAL",
        Thinking::Low => "LOW",
        Thinking::Medium => "MEDIUM",
        Thinking::High | Thinking::Max => "HIGH",
    }
}

fn content(turn: &Turn<'_>, reader: Recipient<'_>) -> Content {
    match turn {
        Turn::User { answers, parts } => {
            let answers = answers.iter().map(response);
            let parts = answers.chain(parts.iter().filter_map(|part| said_by_user(part)));
            Content { role: "user", parts: parts.collect() }
        }
        Turn::Assistant { parts } => Content { role: "model", parts: said_by_model(parts, reader) },
    }
}

/// A result must be an object: one that is one already goes as it is.
fn response(answer: &Answer<'_>) -> Json {
    let response = match serde_json::from_str::<Value>(answer.content) {
        Ok(object @ Value::Object(_)) => object,
        Ok(_) | Err(_) if answer.is_error => json!({"error": answer.content}),
        Ok(_) | Err(_) => json!({"output": answer.content}),
    };
    let mut function = Map::new();
    if let Some(id) = vendor_id(answer) {
        function.insert("id".to_owned(), Value::String(id));
    }
    function.insert("name".to_owned(), json!(answer.call.name));
    function.insert("response".to_owned(), response);
    json!({"functionResponse": function}).into()
}

/// The id that the vendor gave the call, if it gave one: only that may be echoed.
fn vendor_id(answer: &Answer<'_>) -> Option<String> {
    let part: Value = serde_json::from_str(&answer.native?.raw).ok()?;
    part.get("functionCall")?.get("id")?.as_str().map(str::to_owned)
}

fn said_by_user(part: &Part) -> Option<Json> {
    match part {
        Part::Text { text, .. } => Some(json!({"text": text}).into()),
        Part::Image { media_type, data } => {
            Some(json!({"inlineData": {"mimeType": media_type, "data": data}}).into())
        }
        Part::Thinking { .. } | Part::Call { .. } | Part::Result { .. } | Part::Opaque { .. } => {
            None
        }
    }
}

fn said_by_model(parts: &[Said<'_>], reader: Recipient<'_>) -> Vec<Json> {
    let signs = reader.info.thinking.unwrap_or(ThinkingStyle::Level) == ThinkingStyle::Level;
    let mut needs_signature = signs;
    let mut written = Vec::new();
    for said in parts {
        if let Some(native) = said.native.and_then(Json::native) {
            needs_signature &= said.part.call().is_none();
            written.push(native);
            continue;
        }
        match said.part {
            Part::Text { text, .. } => written.push(json!({"text": text}).into()),
            Part::Call { call, .. } => {
                let function = Json::object(vec![
                    ("name".to_owned(), json!(call.name).into()),
                    ("args".to_owned(), Json::arguments(&call.arguments)),
                ]);
                let mut fields = vec![("functionCall".to_owned(), function)];
                // The first call of a step carries the signature for all of them.
                if std::mem::take(&mut needs_signature) {
                    fields.push(("thoughtSignature".to_owned(), json!(UNSIGNED).into()));
                }
                written.push(Json::object(fields));
            }
            Part::Image { .. }
            | Part::Thinking { .. }
            | Part::Result { .. }
            | Part::Opaque { .. } => {}
        }
    }
    written
}
