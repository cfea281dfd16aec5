//! The stream of OpenAI's Responses: items under an output index, each said again whole at its end.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use jm_types::{StopReason, StreamError, StreamEvent, Usage};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::adapter::{Decode, Origin, Shaped};
use crate::failure;
use crate::json::{count, index, text};
use crate::sse::SseEvent;

pub(crate) struct Decoder {
    origin: Origin,
    shaped: Shaped,
    /// Calls that have begun, with the arguments so far.
    calls: BTreeMap<usize, String>,
    /// Items of which something was said already.
    spoken: BTreeSet<usize>,
    called: bool,
    refused: bool,
    stopped: bool,
}

#[derive(Deserialize)]
struct Whole<'a> {
    #[serde(borrow)]
    item: &'a RawValue,
}

impl Decoder {
    pub(crate) fn new(origin: Origin, shaped: Shaped) -> Self {
        Self {
            origin,
            shaped,
            calls: BTreeMap::new(),
            spoken: BTreeSet::new(),
            called: false,
            refused: false,
            stopped: false,
        }
    }

    fn say(&mut self, index: usize, delta: &str, out: &mut VecDeque<StreamEvent>) {
        if !delta.is_empty() {
            self.spoken.insert(index);
            out.push_back(StreamEvent::Text { index, delta: delta.to_owned() });
        }
    }

    fn think(&mut self, index: usize, delta: &str, out: &mut VecDeque<StreamEvent>) {
        self.spoken.insert(index);
        out.push_back(StreamEvent::Thinking { index, delta: delta.to_owned() });
    }

    fn start_call(&mut self, index: usize, item: &Value, out: &mut VecDeque<StreamEvent>) {
        if self.calls.contains_key(&index) {
            return;
        }
        let field = |key: &str| text(item, key).unwrap_or_default().to_owned();
        let (id, name) = (field("call_id"), field("name"));
        self.calls.insert(index, String::new());
        out.push_back(StreamEvent::CallStarted { index, id, name });
    }

    fn add_arguments(&mut self, index: usize, delta: &Value, out: &mut VecDeque<StreamEvent>) {
        let Some(arguments) = self.calls.get_mut(&index) else { return };
        let fragment = as_text(delta);
        if !fragment.is_empty() {
            arguments.push_str(&fragment);
            out.push_back(StreamEvent::CallArguments { index, fragment });
        }
    }

    /// The whole item has come; what it says counts.
    fn finish_item(&mut self, index: usize, data: &str, out: &mut VecDeque<StreamEvent>) {
        let Ok(whole) = serde_json::from_str::<Whole<'_>>(data) else { return };
        let raw = whole.item.get();
        let item: Value = serde_json::from_str(raw).unwrap_or_default();
        // An item that a limit cut is not worth sending back, and a call in it is none.
        let cut = text(&item, "status") == Some("incomplete");
        match text(&item, "type") {
            Some("message") if !self.spoken.contains(&index) => {
                self.say(index, &content(&item), out);
            }
            Some("reasoning") if !self.spoken.contains(&index) => self.think(index, "", out),
            Some("function_call") => self.finish_call(index, &item, cut, out),
            _ => {}
        }
        if !cut {
            out.push_back(StreamEvent::PartSealed { index, native: self.origin.native(raw) });
        }
    }

    fn finish_call(
        &mut self,
        index: usize,
        item: &Value,
        cut: bool,
        out: &mut VecDeque<StreamEvent>,
    ) {
        self.start_call(index, item, out);
        let whole = item.get("arguments").map(as_text).unwrap_or_default();
        if self.calls.get(&index).is_some_and(String::is_empty) {
            self.add_arguments(index, &Value::String(whole.clone()), out);
        }
        if cut {
            return;
        }
        let differs = self.calls.get(&index) != Some(&whole);
        let name = text(item, "name").unwrap_or_default();
        let arguments = self.shaped.undo(name, &whole).or(differs.then_some(whole));
        self.called = true;
        out.push_back(StreamEvent::CallSealed { index, arguments });
    }

    fn stop(&mut self, reason: StopReason, response: &Value, out: &mut VecDeque<StreamEvent>) {
        if let Some(usage) = response.get("usage").filter(|usage| usage.is_object()) {
            out.push_back(StreamEvent::Usage(read_usage(usage)));
        }
        out.push_back(StreamEvent::Stop { reason });
        self.stopped = true;
    }
}

impl Decode for Decoder {
    fn event(
        &mut self,
        event: &SseEvent,
        out: &mut VecDeque<StreamEvent>,
    ) -> Result<(), StreamError> {
        if event.data == "[DONE]" {
            return Ok(());
        }
        let value: Value = serde_json::from_str(&event.data)
            .map_err(|error| failure::malformed(format_args!("{error} in an event")))?;
        let place = index(&value, "output_index").unwrap_or(0);
        let delta = || text(&value, "delta").unwrap_or_default();
        let response = value.get("response").unwrap_or(&Value::Null);
        match text(&value, "type").unwrap_or(&event.name) {
            "response.output_text.delta" => self.say(place, delta(), out),
            "response.refusal.delta" => {
                self.refused = true;
                self.say(place, delta(), out);
            }
            "response.reasoning_summary_part.added" if count(&value, "summary_index") > 0 => {
                self.think(place, "\n\n", out);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.think(place, delta(), out);
            }
            "response.output_item.added" => {
                let item = value.get("item").unwrap_or(&Value::Null);
                if text(item, "type") == Some("function_call") {
                    self.start_call(place, item, out);
                }
            }
            "response.function_call_arguments.delta" => {
                self.add_arguments(place, value.get("delta").unwrap_or(&Value::Null), out);
            }
            "response.output_item.done" => self.finish_item(place, &event.data, out),
            "response.completed" => {
                let reason = match (self.refused, self.called) {
                    (true, _) => StopReason::Refusal,
                    (false, true) => StopReason::ToolUse,
                    (false, false) => StopReason::EndTurn,
                };
                self.stop(reason, response, out);
            }
            "response.incomplete" => self.stop(why_incomplete(response), response, out),
            "response.failed" => return Err(failure::in_stream(response)),
            "error" => return Err(failure::in_stream(&value)),
            // Progress, annotations, and events of tomorrow.
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, _: &mut VecDeque<StreamEvent>) -> Result<(), StreamError> {
        match self.stopped {
            true => Ok(()),
            false => Err(failure::truncated("there was no `response.completed`")),
        }
    }
}

fn why_incomplete(response: &Value) -> StopReason {
    let details = response.get("incomplete_details").unwrap_or(&Value::Null);
    match text(details, "reason") {
        Some("max_output_tokens") => StopReason::MaxTokens,
        Some("content_filter") => StopReason::Refusal,
        Some(other) => StopReason::Other(other.to_owned()),
        None => StopReason::Other("incomplete".to_owned()),
    }
}

/// A text, or whatever stands where a text should, as JSON.
pub(crate) fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn content(item: &Value) -> String {
    let parts = item.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or(&[]);
    parts.iter().filter_map(|part| text(part, "text").or_else(|| text(part, "refusal"))).collect()
}

fn read_usage(usage: &Value) -> Usage {
    let details = |key: &str| usage.get(key).cloned().unwrap_or_default();
    let (input, output) = (details("input_tokens_details"), details("output_tokens_details"));
    let (cache_read, cache_write) =
        (count(&input, "cached_tokens"), count(&input, "cache_write_tokens"));
    Usage {
        input: count(usage, "input_tokens").saturating_sub(cache_read + cache_write),
        output: count(usage, "output_tokens"),
        cache_read,
        cache_write,
        reasoning: count(&output, "reasoning_tokens"),
    }
}
