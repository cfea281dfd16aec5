//! Anthropic's stream: blocks that open, grow and close, each under its own index.

use std::collections::{BTreeMap, VecDeque};

use jm_types::{StopReason, StreamError, StreamEvent, Usage};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::adapter::{Decode, Origin};
use crate::json::{count, index, text};
use crate::sse::SseEvent;
use crate::{failure, json as pieces};

pub(crate) struct Decoder {
    origin: Origin,
    blocks: BTreeMap<usize, Block>,
    usage: Usage,
    reason: Option<StopReason>,
    stopped: bool,
}

/// A block that is still open.
enum Block {
    Text,
    Thinking {
        text: String,
        signature: String,
    },
    Call(Call),
    /// A kind that we do not know, as it opened, and input that came after.
    Unknown {
        raw: String,
        input: String,
    },
}

struct Call {
    id: String,
    name: String,
    arguments: String,
    /// The input that stood in the opening event; usually none does.
    whole: Option<String>,
    /// Other fields of the call, which the vendor wants to get back.
    more: Map<String, Value>,
}

#[derive(Deserialize)]
struct Opening<'a> {
    #[serde(borrow)]
    content_block: &'a RawValue,
}

impl Decoder {
    pub(crate) fn new(origin: Origin) -> Self {
        Self {
            origin,
            blocks: BTreeMap::new(),
            usage: Usage::default(),
            reason: None,
            stopped: false,
        }
    }

    fn open(&mut self, index: usize, data: &str, out: &mut VecDeque<StreamEvent>) {
        let Ok(opening) = serde_json::from_str::<Opening<'_>>(data) else { return };
        let raw = opening.content_block.get();
        let value: Value = serde_json::from_str(raw).unwrap_or_default();
        let block = match text(&value, "type") {
            Some("text") => {
                let delta = text(&value, "text").unwrap_or_default().to_owned();
                if !delta.is_empty() {
                    out.push_back(StreamEvent::Text { index, delta });
                }
                Block::Text
            }
            Some("thinking") => {
                let delta = text(&value, "thinking").unwrap_or_default().to_owned();
                let signature = text(&value, "signature").unwrap_or_default().to_owned();
                out.push_back(StreamEvent::Thinking { index, delta: delta.clone() });
                Block::Thinking { text: delta, signature }
            }
            Some("tool_use") => {
                let call = Call::open(value);
                let (id, name) = (call.id.clone(), call.name.clone());
                out.push_back(StreamEvent::CallStarted { index, id, name });
                Block::Call(call)
            }
            kind => {
                // Thoughts that nobody may read are thoughts all the same.
                if kind == Some("redacted_thinking") {
                    out.push_back(StreamEvent::Thinking { index, delta: String::new() });
                }
                Block::Unknown { raw: raw.to_owned(), input: String::new() }
            }
        };
        self.blocks.insert(index, block);
    }

    fn grow(&mut self, index: usize, delta: &Value, out: &mut VecDeque<StreamEvent>) {
        let piece = |key: &str| match delta.get(key) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Null) | None => String::new(),
            Some(other) => other.to_string(),
        };
        match (text(delta, "type"), self.blocks.get_mut(&index)) {
            (Some("text_delta"), _) => {
                out.push_back(StreamEvent::Text { index, delta: piece("text") });
            }
            (Some("thinking_delta"), block) => {
                let delta = piece("thinking");
                if let Some(Block::Thinking { text, .. }) = block {
                    text.push_str(&delta);
                }
                out.push_back(StreamEvent::Thinking { index, delta });
            }
            (Some("signature_delta"), Some(Block::Thinking { signature, .. })) => {
                signature.push_str(&piece("signature"));
            }
            (Some("input_json_delta"), Some(Block::Call(call))) => {
                let fragment = piece("partial_json");
                call.arguments.push_str(&fragment);
                if !fragment.is_empty() {
                    out.push_back(StreamEvent::CallArguments { index, fragment });
                }
            }
            (Some("input_json_delta"), Some(Block::Unknown { input, .. })) => {
                input.push_str(&piece("partial_json"));
            }
            // Citations of documents that we never send, and deltas of tomorrow.
            _ => {}
        }
    }

    fn close(&mut self, index: usize, out: &mut VecDeque<StreamEvent>) {
        let native = match self.blocks.remove(&index) {
            None | Some(Block::Text) => None,
            Some(Block::Thinking { signature, .. }) if signature.is_empty() => None,
            Some(Block::Thinking { text, signature }) => Some(
                json!({"type": "thinking", "thinking": text, "signature": signature}).to_string(),
            ),
            Some(Block::Call(call)) => {
                let arguments = call.whole.clone().filter(|_| call.arguments.is_empty());
                out.push_back(StreamEvent::CallSealed { index, arguments });
                call.native()
            }
            Some(Block::Unknown { raw, input }) => Some(with_input(raw, &input)),
        };
        if let Some(raw) = native {
            out.push_back(StreamEvent::PartSealed { index, native: self.origin.native(raw) });
        }
    }

    fn count(&mut self, usage: Option<&Value>, out: &mut VecDeque<StreamEvent>) {
        let Some(usage) = usage.filter(|usage| usage.is_object()) else { return };
        let fields = [
            ("input_tokens", &mut self.usage.input),
            ("output_tokens", &mut self.usage.output),
            ("cache_read_input_tokens", &mut self.usage.cache_read),
            ("cache_creation_input_tokens", &mut self.usage.cache_write),
        ];
        // Later counts replace earlier ones, where they are given at all.
        for (key, field) in fields {
            if usage.get(key).is_some_and(Value::is_u64) {
                *field = count(usage, key);
            }
        }
        if let Some(details) = usage.get("output_tokens_details") {
            self.usage.reasoning = count(details, "thinking_tokens");
        }
        out.push_back(StreamEvent::Usage(self.usage));
    }
}

impl Decode for Decoder {
    fn event(
        &mut self,
        event: &SseEvent,
        out: &mut VecDeque<StreamEvent>,
    ) -> Result<(), StreamError> {
        let value: Value = serde_json::from_str(&event.data)
            .map_err(|error| failure::malformed(format_args!("{error} in an event")))?;
        let place = index(&value, "index").unwrap_or(0);
        match text(&value, "type").unwrap_or(&event.name) {
            "message_start" => {
                self.count(value.get("message").and_then(|message| message.get("usage")), out);
            }
            "content_block_start" => self.open(place, &event.data, out),
            "content_block_delta" => {
                if let Some(delta) = value.get("delta") {
                    self.grow(place, delta, out);
                }
            }
            "content_block_stop" => self.close(place, out),
            "message_delta" => {
                self.count(value.get("usage"), out);
                let reason =
                    value.get("delta").and_then(|delta| pieces::text(delta, "stop_reason"));
                self.reason = reason.map(stop_reason).or(self.reason.take());
            }
            "message_stop" => {
                let reason = self.reason.take().unwrap_or(StopReason::EndTurn);
                out.push_back(StreamEvent::Stop { reason });
                self.stopped = true;
            }
            "error" => return Err(failure::in_stream(&value)),
            // `ping`, and events of tomorrow.
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, _: &mut VecDeque<StreamEvent>) -> Result<(), StreamError> {
        match self.stopped {
            true => Ok(()),
            false => Err(failure::truncated("there was no `message_stop`")),
        }
    }
}

impl Call {
    fn open(value: Value) -> Self {
        let field = |key: &str| text(&value, key).unwrap_or_default().to_owned();
        let (id, name) = (field("id"), field("name"));
        let mut more = match value {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        let input = more.shift_remove("input");
        let whole = match input {
            Some(Value::Object(fields)) if fields.is_empty() => None,
            Some(Value::Null) | None => None,
            Some(Value::String(text)) => Some(text),
            Some(input) => Some(input.to_string()),
        };
        for known in ["type", "id", "name"] {
            more.shift_remove(known);
        }
        Self { id, name, arguments: String::new(), whole, more }
    }

    /// The vendor's item where it says more than we understand.
    fn native(self) -> Option<String> {
        if self.more.is_empty() {
            return None;
        }
        let arguments = match self.whole.filter(|_| self.arguments.is_empty()) {
            Some(whole) => whole,
            None if self.arguments.is_empty() => "{}".to_owned(),
            None => self.arguments,
        };
        let input = pieces::Json::arguments(&arguments);
        let head = json!({"type": "tool_use", "id": self.id, "name": self.name});
        let input = serde_json::to_string(&input).ok()?;
        let more = Value::Object(self.more).to_string();
        Some(format!("{},\"input\":{input},{}", head.to_string().strip_suffix('}')?, &more[1..]))
    }
}

/// An unknown block with the input that streamed in after it opened.
fn with_input(raw: String, input: &str) -> String {
    match (serde_json::from_str(&raw), serde_json::from_str::<Value>(input)) {
        (Ok(Value::Object(mut block)), Ok(input)) => {
            block.insert("input".to_owned(), input);
            Value::Object(block).to_string()
        }
        _ => raw,
    }
}

fn stop_reason(word: &str) -> StopReason {
    match word {
        "end_turn" | "stop_sequence" => StopReason::EndTurn,
        "tool_use" => StopReason::ToolUse,
        "max_tokens" => StopReason::MaxTokens,
        "refusal" => StopReason::Refusal,
        "model_context_window_exceeded" => StopReason::ContextWindow,
        other => StopReason::Other(other.to_owned()),
    }
}
