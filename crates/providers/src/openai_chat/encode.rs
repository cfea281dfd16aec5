//! A request as Chat Completions wants it: the calls in the assistant's message, then one message
//! for each result.

use jm_types::{Part, ToolDefinition};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::adapter::Recipient;
use crate::history::{Answer, Said, Turn, turns};
use crate::json::Json;
use crate::models::ThinkingStyle;
use crate::openai_responses::effort;
use crate::request::ModelRequest;
use crate::schema;
use crate::tools::{Dialect, Written};

#[derive(Debug, Serialize)]
pub(crate) struct Body {
    model: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<Written>,
    messages: Vec<Json>,
    stream: bool,
    stream_options: Value,
}

/// Leaves out, for servers that imitate the vendor, what only the vendor itself understands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Server {
    Openai,
    Compatible,
}

pub(crate) fn encode(request: &ModelRequest, reader: Recipient<'_>) -> serde_json::Result<Body> {
    let server = match reader.provider {
        "openai-chat" => Server::Openai,
        _ => Server::Compatible,
    };
    let parameters = request.parameters_for(reader.provider);
    let reasons = match reader.info.thinking {
        Some(style) => style != ThinkingStyle::None,
        None => server == Server::Openai,
    };
    let (max_tokens, max_completion_tokens) = match server {
        Server::Openai => (None, parameters.max_tokens),
        Server::Compatible => (parameters.max_tokens, None),
    };
    let sampling = reader.info.sampling != Some(false);
    let dialect = match server {
        Server::Openai => Dialect::ChatStrict,
        Server::Compatible => Dialect::ChatPlain,
    };
    let write =
        |all: &[ToolDefinition]| all.iter().map(|one| tool(one, server)).collect::<Vec<_>>();
    Ok(Body {
        model: reader.model.to_owned(),
        max_tokens,
        max_completion_tokens,
        temperature: parameters.temperature.filter(|_| sampling),
        reasoning_effort: effort(&parameters, reader.info.thinking).filter(|_| reasons),
        tools: request.tools.written(dialect, write)?,
        messages: messages(request, reader),
        stream: true,
        stream_options: json!({"include_usage": true}),
    })
}

fn tool(tool: &ToolDefinition, server: Server) -> Value {
    let strict = match (tool.strict, server) {
        (None, Server::Openai) => schema::strict(&tool.parameters),
        (Some(true), _) => Some(tool.parameters.clone()),
        (Some(false), _) | (None, Server::Compatible) => None,
    };
    let mut function = json!({"name": tool.name, "description": tool.description});
    if strict.is_some() {
        function["strict"] = Value::Bool(true);
    }
    function["parameters"] = strict.unwrap_or_else(|| tool.parameters.clone());
    json!({"type": "function", "function": function})
}

fn messages(request: &ModelRequest, reader: Recipient<'_>) -> Vec<Json> {
    let mut messages = Vec::new();
    if !request.system.trim().is_empty() {
        messages.push(json!({"role": "system", "content": request.system}).into());
    }
    for turn in turns(&request.messages, reader.provider, reader.model) {
        match turn {
            Turn::User { answers, parts } => {
                messages.extend(answers.iter().map(|answer| Json::Made(result(answer))));
                messages.extend(said_by_user(&parts).map(Json::Made));
            }
            Turn::Assistant { parts } => messages.extend(said_by_model(&parts)),
        }
    }
    messages
}

fn result(answer: &Answer<'_>) -> Value {
    json!({"role": "tool", "tool_call_id": answer.call_id, "content": answer.content})
}

/// Plain text where that is all, so that the simplest servers understand it.
fn said_by_user(parts: &[&Part]) -> Option<Value> {
    let content: Vec<Value> = parts
        .iter()
        .filter_map(|part| match part {
            Part::Text { text, .. } => Some(json!({"type": "text", "text": text})),
            Part::Image { media_type, data } => {
                let url = format!("data:{media_type};base64,{data}");
                Some(json!({"type": "image_url", "image_url": {"url": url}}))
            }
            Part::Thinking { .. }
            | Part::Call { .. }
            | Part::Result { .. }
            | Part::Opaque { .. } => None,
        })
        .collect();
    match content.as_slice() {
        [] => None,
        [only] if only["type"] == "text" => Some(json!({"role": "user", "content": only["text"]})),
        _ => Some(json!({"role": "user", "content": content})),
    }
}

/// Nothing where there were thoughts only: a message without words and calls is refused.
fn said_by_model(parts: &[Said<'_>]) -> Option<Json> {
    let mut text = String::new();
    let mut calls = Vec::new();
    let mut thoughts = Map::new();
    for said in parts {
        match said.part {
            Part::Text { text: more, .. } => text.push_str(more),
            Part::Call { .. } => calls.extend(call(said)),
            Part::Thinking { .. } => {
                let raw = said.native.map(|native| native.raw.as_str()).unwrap_or_default();
                if let Ok(Value::Object(fields)) = serde_json::from_str(raw) {
                    thoughts.extend(fields);
                }
            }
            Part::Image { .. } | Part::Result { .. } | Part::Opaque { .. } => {}
        }
    }
    if text.is_empty() && calls.is_empty() {
        return None;
    }
    let content = if text.is_empty() { Value::Null } else { json!(text) };
    let mut fields: Vec<(String, Json)> = vec![
        ("role".to_owned(), json!("assistant").into()),
        ("content".to_owned(), content.into()),
    ];
    // Servers that show their reasoning want it back beside the calls that came of it, and only
    // there.
    if !calls.is_empty() {
        fields.extend(thoughts.into_iter().map(|(key, value)| (key, Json::Made(value))));
        fields.push(("tool_calls".to_owned(), Json::List(calls)));
    }
    Some(Json::object(fields))
}

fn call(said: &Said<'_>) -> Option<Json> {
    let call = said.part.call()?;
    let renamed = Some(&call.id) != said.call_id.as_ref();
    if let Some(native) = said.native.filter(|_| !renamed) {
        return Json::native(native);
    }
    Some(
        json!({
            "id": said.call_id,
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        })
        .into(),
    )
}
