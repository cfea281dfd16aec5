//! A request as OpenAI's Responses wants it: a flat list of items, nothing stored with the vendor,
//! reasoning sent back sealed.

use jm_types::{Part, ToolDefinition};
use serde::Serialize;
use serde_json::{Value, json};

use crate::adapter::Recipient;
use crate::cache_retention::CacheRetention;
use crate::history::{Said, Turn, turns};
use crate::json::Json;
use crate::models::ThinkingStyle;
use crate::request::{ModelRequest, Parameters, Thinking};
use crate::schema;
use crate::tools::{Dialect, Written};

#[derive(Debug, Serialize)]
pub(crate) struct Body {
    model: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    instructions: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<Written>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    include: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_retention: Option<&'static str>,
    input: Vec<Json>,
    store: bool,
    stream: bool,
}

pub(crate) fn encode(request: &ModelRequest, reader: Recipient<'_>) -> serde_json::Result<Body> {
    let parameters = request.parameters_for("openai");
    let reasons = reader.info.thinking != Some(ThinkingStyle::None);
    let cached = parameters.cache_retention.unwrap_or_default();
    let sampling = reader.info.sampling != Some(false);
    let write = |all: &[ToolDefinition]| all.iter().map(tool).collect::<Vec<_>>();
    Ok(Body {
        model: reader.model.to_owned(),
        instructions: request.system.clone(),
        tools: request.tools.written(Dialect::Responses, write)?,
        parallel_tool_calls: (!request.tools.is_empty()).then_some(true),
        max_output_tokens: parameters.max_tokens,
        temperature: parameters.temperature.filter(|_| sampling),
        reasoning: reasoning(&parameters, reader.info.thinking).filter(|_| reasons),
        include: if reasons { vec!["reasoning.encrypted_content"] } else { Vec::new() },
        prompt_cache_key: request.conversation.clone().filter(|_| cached != CacheRetention::None),
        prompt_cache_retention: (cached == CacheRetention::Long).then_some("24h"),
        input: turns(&request.messages, reader.provider, reader.model)
            .iter()
            .flat_map(items)
            .collect(),
        store: false,
        stream: true,
    })
}

/// The words for the effort that both of OpenAI's languages share.
pub(crate) fn effort(parameters: &Parameters, style: Option<ThinkingStyle>) -> Option<String> {
    let always = style == Some(ThinkingStyle::Always);
    let level = |level: Thinking| match level {
        Thinking::Off | Thinking::Minimal if always => "low",
        Thinking::Off => "none",
        Thinking::Minimal => "minimal",
        Thinking::Low => "low",
        Thinking::Medium => "medium",
        Thinking::High => "high",
        Thinking::Max => "xhigh",
    };
    let asked = parameters.thinking.map(|asked| level(asked).to_owned());
    parameters.reasoning.clone().or(asked)
}

fn reasoning(parameters: &Parameters, style: Option<ThinkingStyle>) -> Option<Value> {
    match effort(parameters, style) {
        Some(effort) if effort == "none" => Some(json!({"effort": effort})),
        Some(effort) => Some(json!({"effort": effort, "summary": "auto"})),
        None => None,
    }
}

fn tool(tool: &ToolDefinition) -> Value {
    let mut function = json!({
        "type": "function", "name": tool.name, "description": tool.description,
    });
    let (parameters, strict) = match tool.strict {
        None => match schema::strict(&tool.parameters) {
            Some(shaped) => (shaped, Some(true)),
            None => (tool.parameters.clone(), Some(false)),
        },
        // Left out unless the tool's author asked for it.
        Some(strict) => (tool.parameters.clone(), strict.then_some(true)),
    };
    if let Some(strict) = strict {
        function["strict"] = Value::Bool(strict);
    }
    function["parameters"] = parameters;
    function
}

fn items(turn: &Turn<'_>) -> Vec<Json> {
    match turn {
        Turn::User { answers, parts } => {
            let outputs = answers.iter().map(|answer| {
                json!({
                    "type": "function_call_output",
                    "call_id": answer.call_id,
                    "output": answer.content,
                })
            });
            let content: Vec<Value> = parts.iter().filter_map(|part| said_by_user(part)).collect();
            let words = (!content.is_empty())
                .then(|| json!({"type": "message", "role": "user", "content": content}));
            outputs.chain(words).map(Json::Made).collect()
        }
        Turn::Assistant { parts } => parts.iter().filter_map(said_by_model).collect(),
    }
}

fn said_by_user(part: &Part) -> Option<Value> {
    match part {
        Part::Text { text, .. } => Some(json!({"type": "input_text", "text": text})),
        Part::Image { media_type, data } => Some(json!({
            "type": "input_image",
            "detail": "auto",
            "image_url": format!("data:{media_type};base64,{data}"),
        })),
        Part::Thinking { .. } | Part::Call { .. } | Part::Result { .. } | Part::Opaque { .. } => {
            None
        }
    }
}

fn said_by_model(said: &Said<'_>) -> Option<Json> {
    let renamed = said.part.call().is_some_and(|call| Some(&call.id) != said.call_id.as_ref());
    if let Some(native) = said.native.filter(|_| !renamed) {
        return Json::native(native);
    }
    let made = match said.part {
        Part::Text { text, .. } => json!({"role": "assistant", "content": text}),
        Part::Call { call, .. } => json!({
            "type": "function_call",
            "call_id": said.call_id,
            "name": call.name,
            "arguments": call.arguments,
        }),
        Part::Image { .. } | Part::Thinking { .. } | Part::Result { .. } | Part::Opaque { .. } => {
            return None;
        }
    };
    Some(made.into())
}
