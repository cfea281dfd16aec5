//! A request as Anthropic wants it: results first in a user's turn, thoughts back as they were,
//! four places where the prompt cache may begin again.

use jm_types::{Part, ToolDefinition};
use serde::Serialize;
use serde_json::{Value, json};

use crate::adapter::Recipient;
use crate::cache_retention::CacheRetention;
use crate::history::{Answer, Said, Turn, turns};
use crate::json::Json;
use crate::models::ThinkingStyle;
use crate::request::{ModelRequest, Parameters, Thinking};
use crate::tools::{Dialect, Written};

const OUTPUT_WHEN_UNKNOWN: u32 = 8192;
const OUTPUT_ENOUGH: u32 = 32_000;
/// The tokens that an answer may have beside its thoughts.
const OUTPUT_BESIDE_THINKING: u32 = 8192;
const SMALLEST_BUDGET: u32 = 1024;

#[derive(Debug, Serialize)]
pub(crate) struct Body {
    model: String,
    max_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<Written>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Value>,
    messages: Vec<Message>,
    stream: bool,
}

#[derive(Debug, Serialize)]
struct Message {
    role: &'static str,
    content: Vec<Json>,
}

pub(crate) fn encode(request: &ModelRequest, reader: Recipient<'_>) -> serde_json::Result<Body> {
    let parameters = request.parameters_for("anthropic");
    let turns = turns(&request.messages, reader.provider, reader.model);
    let thoughts = Thoughts::of(&parameters, reader).in_the_midst_of(&turns);
    let retention = parameters.cache_retention.unwrap_or_default();
    let mark = cache_mark(retention);
    let write = |all: &[ToolDefinition]| tools(all, mark.as_ref());
    let sampling = reader.info.sampling != Some(false) && !thoughts.are_on();
    Ok(Body {
        model: reader.model.to_owned(),
        max_tokens: max_tokens(&parameters, reader, &thoughts),
        temperature: parameters.temperature.filter(|_| sampling),
        output_config: thoughts.effort().map(|effort| json!({"effort": effort})),
        thinking: thoughts.field(),
        tools: request.tools.written(Dialect::Anthropic(retention), write)?,
        system: system(&request.system, mark.as_ref()),
        messages: messages(&turns, mark.as_ref()),
        stream: true,
    })
}

/// The request's `thinking` field.
enum Thoughts {
    /// Nothing: the model decides.
    Unsaid,
    Off,
    Budget(u32),
    Effort(String),
    /// The model always thinks; only the effort can be told.
    EffortOnly(String),
}

impl Thoughts {
    fn of(parameters: &Parameters, reader: Recipient<'_>) -> Self {
        let style = reader.info.thinking.unwrap_or(ThinkingStyle::Effort);
        let always = style == ThinkingStyle::Always;
        let effort = |word: String| {
            if always { Thoughts::EffortOnly(word) } else { Thoughts::Effort(word) }
        };
        match (parameters.thinking_budget, &parameters.reasoning, parameters.thinking) {
            _ if style == ThinkingStyle::None => Thoughts::Unsaid,
            (Some(budget), _, _) => Thoughts::Budget(budget),
            (None, Some(word), _) => effort(word.clone()),
            (None, None, None) => Thoughts::Unsaid,
            (None, None, Some(Thinking::Off)) if always => Thoughts::EffortOnly("low".to_owned()),
            (None, None, Some(level)) => match (style, level.budget()) {
                (_, None) => Thoughts::Off,
                (ThinkingStyle::Budget, Some(budget)) => Thoughts::Budget(budget),
                (_, Some(_)) => effort(word(level).to_owned()),
            },
        }
    }

    /// With a budget, a turn whose results are being told must have begun with a thought. One that
    /// another model made has none, and then the request can only go without.
    fn in_the_midst_of(self, turns: &[Turn<'_>]) -> Self {
        let last = turns.iter().rev().find_map(|turn| match turn {
            Turn::Assistant { parts } => Some(parts),
            Turn::User { .. } => None,
        });
        let thoughtless = last.is_some_and(|parts| {
            let calls = parts.iter().any(|said| said.part.call().is_some());
            calls && !matches!(parts.first().map(|said| said.part), Some(Part::Thinking { .. }))
        });
        match self {
            Thoughts::Budget(_) if thoughtless => Thoughts::Off,
            other => other,
        }
    }

    fn are_on(&self) -> bool {
        !matches!(self, Thoughts::Unsaid | Thoughts::Off)
    }

    fn effort(&self) -> Option<&str> {
        match self {
            Thoughts::Effort(word) | Thoughts::EffortOnly(word) => Some(word),
            Thoughts::Unsaid | Thoughts::Off | Thoughts::Budget(_) => None,
        }
    }

    fn field(&self) -> Option<Value> {
        match self {
            Thoughts::Unsaid => None,
            Thoughts::Off => Some(json!({"type": "disabled"})),
            Thoughts::Budget(budget) => {
                let budget = (*budget).max(SMALLEST_BUDGET);
                Some(json!({"type": "enabled", "budget_tokens": budget}))
            }
            Thoughts::Effort(_) | Thoughts::EffortOnly(_) => {
                Some(json!({"type": "adaptive", "display": "summarized"}))
            }
        }
    }
}

fn word(level: Thinking) -> &'static str {
    match level {
        Thinking::Off | Thinking::Minimal | Thinking::Low => "low",
        Thinking::Medium => "medium",
        Thinking::High => "high",
        Thinking::Max => "max",
    }
}

/// A budget of thoughts must lie beneath the limit of the whole answer.
fn max_tokens(parameters: &Parameters, reader: Recipient<'_>, thoughts: &Thoughts) -> u32 {
    let most = reader.info.output;
    let usual = most.map_or(OUTPUT_WHEN_UNKNOWN, |most| most.min(OUTPUT_ENOUGH));
    let asked = parameters.max_tokens.unwrap_or(usual);
    match thoughts {
        Thoughts::Budget(budget) if *budget >= asked => {
            let enough = budget.saturating_add(OUTPUT_BESIDE_THINKING);
            most.map_or(enough, |most| enough.min(most))
        }
        _ => asked,
    }
}

fn cache_mark(retention: CacheRetention) -> Option<Value> {
    match retention {
        CacheRetention::None => None,
        CacheRetention::Short => Some(json!({"type": "ephemeral"})),
        CacheRetention::Long => Some(json!({"type": "ephemeral", "ttl": "1h"})),
    }
}

fn tools(tools: &[ToolDefinition], mark: Option<&Value>) -> Vec<Value> {
    let tool = |tool: &ToolDefinition| {
        json!({
            "name": tool.name,
            "description": tool.description,
            "input_schema": tool.parameters,
        })
    };
    let mut tools: Vec<Value> = tools.iter().map(tool).collect();
    if let Some(last) = tools.last_mut() {
        put_mark(last, mark);
    }
    tools
}

fn system(text: &str, mark: Option<&Value>) -> Vec<Value> {
    if text.trim().is_empty() {
        return Vec::new();
    }
    let mut block = json!({"type": "text", "text": text});
    put_mark(&mut block, mark);
    vec![block]
}

/// The last two of the person's turns carry a mark: the newest writes what the next request reads,
/// the one before finds what the last request wrote. With tools and system that makes four.
fn messages(turns: &[Turn<'_>], mark: Option<&Value>) -> Vec<Message> {
    let mut messages: Vec<Message> = turns.iter().map(message).collect();
    let asked = messages.iter_mut().rev().filter(|message| message.role == "user").take(2);
    for message in asked {
        if let Some(Json::Made(block)) = message.content.last_mut() {
            put_mark(block, mark);
        }
    }
    messages
}

fn put_mark(block: &mut Value, mark: Option<&Value>) {
    if let Some(mark) = mark {
        block["cache_control"] = mark.clone();
    }
}

fn message(turn: &Turn<'_>) -> Message {
    match turn {
        Turn::User { answers, parts } => {
            let results = answers.iter().map(result);
            let rest = parts.iter().filter_map(|part| said_by_user(part));
            Message { role: "user", content: results.chain(rest).map(Json::Made).collect() }
        }
        Turn::Assistant { parts } => {
            let content = parts.iter().filter_map(said_by_model).collect();
            Message { role: "assistant", content }
        }
    }
}

fn result(answer: &Answer<'_>) -> Value {
    let mut block = json!({
        "type": "tool_result",
        "tool_use_id": answer.call_id,
        "content": answer.content,
    });
    if answer.is_error {
        block["is_error"] = Value::Bool(true);
    }
    block
}

fn said_by_user(part: &Part) -> Option<Value> {
    match part {
        Part::Text { text, .. } => Some(json!({"type": "text", "text": text})),
        Part::Image { media_type, data } => Some(json!({
            "type": "image",
            "source": {"type": "base64", "media_type": media_type, "data": data},
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
    match said.part {
        Part::Text { text, .. } => Some(json!({"type": "text", "text": text}).into()),
        Part::Call { call, .. } => Some(Json::object(vec![
            ("type".to_owned(), json!("tool_use").into()),
            ("id".to_owned(), json!(said.call_id).into()),
            ("name".to_owned(), json!(call.name).into()),
            ("input".to_owned(), Json::arguments(&call.arguments)),
        ])),
        Part::Image { .. } | Part::Thinking { .. } | Part::Result { .. } | Part::Opaque { .. } => {
            None
        }
    }
}
