//! The stream of Chat Completions, with the liberties that compatible servers take.

use std::collections::{HashMap, VecDeque};

use jm_types::{StopReason, StreamError, StreamEvent, Usage};
use serde_json::{Map, Value, json};

use crate::adapter::{Decode, Origin, Shaped};
use crate::failure;
use crate::json::{count, index, text};
use crate::openai_responses::as_text;
use crate::sse::SseEvent;

pub(crate) struct Decoder {
    origin: Origin,
    shaped: Shaped,
    /// The place of the next part.
    next: usize,
    /// The text that deltas go on with; a call or a thought ends it.
    text: Option<usize>,
    thought: Option<Thought>,
    calls: Vec<Call>,
    known: Known,
    refused: bool,
    reason: Option<StopReason>,
    stopped: bool,
}

/// Reasoning that a server shows, under the key that it uses and wants to hear again.
struct Thought {
    place: usize,
    key: &'static str,
    text: String,
}

/// The last call under each of the server's own numbers, so that a flood of calls is read in linear time.
#[derive(Default)]
struct Known {
    by_index: HashMap<usize, usize>,
    by_id: HashMap<String, usize>,
    by_both: HashMap<(usize, String), usize>,
}

impl Known {
    fn add(&mut self, call: usize, index: Option<usize>, id: Option<&str>) {
        if let Some(index) = index {
            self.by_index.insert(index, call);
        }
        if let Some(id) = id {
            self.by_id.insert(id.to_owned(), call);
        }
        if let (Some(index), Some(id)) = (index, id) {
            self.by_both.insert((index, id.to_owned()), call);
        }
    }
}

struct Call {
    place: usize,
    id: String,
    name: String,
    arguments: String,
    more: Map<String, Value>,
}

impl Decoder {
    pub(crate) fn new(origin: Origin, shaped: Shaped) -> Self {
        Self {
            origin,
            shaped,
            next: 0,
            text: None,
            thought: None,
            calls: Vec::new(),
            known: Known::default(),
            refused: false,
            reason: None,
            stopped: false,
        }
    }

    fn place(&mut self) -> usize {
        self.next += 1;
        self.next - 1
    }

    fn say(&mut self, delta: String, out: &mut VecDeque<StreamEvent>) {
        if delta.is_empty() {
            return;
        }
        let index = match self.text {
            Some(index) => index,
            None => self.place(),
        };
        self.text = Some(index);
        out.push_back(StreamEvent::Text { index, delta });
    }

    fn think(&mut self, key: &'static str, delta: &str, out: &mut VecDeque<StreamEvent>) {
        if delta.is_empty() {
            return;
        }
        if self.thought.is_none() {
            let place = self.place();
            self.text = None;
            self.thought = Some(Thought { place, key, text: String::new() });
        }
        if let Some(thought) = &mut self.thought {
            thought.text.push_str(delta);
            let delta = delta.to_owned();
            out.push_back(StreamEvent::Thinking { index: thought.place, delta });
        }
    }

    fn call(&mut self, piece: &Value, out: &mut VecDeque<StreamEvent>) {
        let empty = Value::Null;
        let function = piece.get("function").unwrap_or(&empty);
        let name = text(function, "name").filter(|name| !name.is_empty());
        let wire_index = index(piece, "index");
        let wire_id = text(piece, "id").filter(|id| !id.is_empty());
        let place = match self.known(wire_index, wire_id, name) {
            Some(known) => known,
            None => self.start(piece, wire_index, wire_id, name.unwrap_or_default(), out),
        };
        let fragment = function.get("arguments").map(as_text).unwrap_or_default();
        if let Some(call) = self.calls.get_mut(place).filter(|_| !fragment.is_empty()) {
            call.arguments.push_str(&fragment);
            out.push_back(StreamEvent::CallArguments { index: call.place, fragment });
        }
    }

    /// The call that a piece continues. Its index says so; but some servers give none, and some
    /// give every call of a batch the same one with an id of its own.
    fn known(&self, index: Option<usize>, id: Option<&str>, name: Option<&str>) -> Option<usize> {
        let known = &self.known;
        match (index, id) {
            (Some(index), Some(id)) if name.is_some() => {
                known.by_both.get(&(index, id.to_owned())).copied()
            }
            (Some(index), _) => known.by_index.get(&index).copied(),
            (None, Some(id)) => known.by_id.get(id).copied(),
            (None, None) if name.is_some() => None,
            (None, None) => self.calls.len().checked_sub(1),
        }
    }

    fn start(
        &mut self,
        piece: &Value,
        wire_index: Option<usize>,
        wire_id: Option<&str>,
        name: &str,
        out: &mut VecDeque<StreamEvent>,
    ) -> usize {
        let place = self.place();
        self.text = None;
        let id = wire_id.unwrap_or_default().to_owned();
        let mut more = piece.as_object().cloned().unwrap_or_default();
        for known in ["index", "id", "type", "function"] {
            more.shift_remove(known);
        }
        out.push_back(StreamEvent::CallStarted {
            index: place,
            id: id.clone(),
            name: name.to_owned(),
        });
        self.known.add(self.calls.len(), wire_index, wire_id);
        self.calls.push(Call { place, id, name: name.to_owned(), arguments: String::new(), more });
        self.calls.len() - 1
    }

    /// The turn is over: calls are whole, and what the server wants back is known.
    fn seal(&mut self, out: &mut VecDeque<StreamEvent>) {
        if let Some(Thought { place: index, key, text }) = self.thought.take() {
            let native = self.origin.native(json!({key: text}).to_string());
            out.push_back(StreamEvent::PartSealed { index, native });
        }
        for call in &self.calls {
            let arguments = self.shaped.undo(&call.name, &call.arguments);
            out.push_back(StreamEvent::CallSealed { index: call.place, arguments });
            if let Some(raw) = call.native() {
                let native = self.origin.native(raw);
                out.push_back(StreamEvent::PartSealed { index: call.place, native });
            }
        }
    }

    fn finish(&mut self, word: &str, out: &mut VecDeque<StreamEvent>) {
        if self.reason.is_some() {
            return;
        }
        self.reason = Some(match word {
            "length" => StopReason::MaxTokens,
            "content_filter" => StopReason::Refusal,
            // Some servers say `stop` where there are calls.
            "stop" | "tool_calls" | "function_call" if !self.calls.is_empty() => {
                StopReason::ToolUse
            }
            "stop" | "tool_calls" | "function_call" if self.refused => StopReason::Refusal,
            "stop" | "tool_calls" | "function_call" => StopReason::EndTurn,
            other => StopReason::Other(other.to_owned()),
        });
        self.seal(out);
    }

    fn choice(&mut self, choice: &Value, out: &mut VecDeque<StreamEvent>) {
        let empty = Value::Null;
        // A server that does not stream its answer gives a `message`.
        let delta = choice.get("delta").or_else(|| choice.get("message")).unwrap_or(&empty);
        for key in ["reasoning_content", "reasoning"] {
            if let Some(thought) = text(delta, key) {
                self.think(key, thought, out);
            }
        }
        self.say(content(delta), out);
        if let Some(refusal) = text(delta, "refusal").filter(|refusal| !refusal.is_empty()) {
            self.refused = true;
            self.say(refusal.to_owned(), out);
        }
        for piece in delta.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            self.call(piece, out);
        }
        if let Some(word) = text(choice, "finish_reason") {
            self.finish(word, out);
        }
    }
}

impl Call {
    /// The server's item where it says more than we understand.
    fn native(&self) -> Option<String> {
        // One without an id would not name the call that its result answers.
        if self.more.is_empty() || self.id.is_empty() {
            return None;
        }
        let mut item = self.more.clone();
        item.insert("id".to_owned(), json!(self.id));
        item.insert("type".to_owned(), json!("function"));
        let arguments = if self.arguments.is_empty() { "{}" } else { &self.arguments };
        item.insert("function".to_owned(), json!({"name": self.name, "arguments": arguments}));
        Some(Value::Object(item).to_string())
    }
}

impl Decode for Decoder {
    fn event(
        &mut self,
        event: &SseEvent,
        out: &mut VecDeque<StreamEvent>,
    ) -> Result<(), StreamError> {
        if event.data == "[DONE]" {
            return self.end(out);
        }
        let value: Value = serde_json::from_str(&event.data)
            .map_err(|error| failure::malformed(format_args!("{error} in an event")))?;
        if value.get("error").is_some_and(|error| !error.is_null()) {
            return Err(failure::in_stream(&value));
        }
        if let Some(choice) = value.get("choices").and_then(|choices| choices.get(0)) {
            self.choice(choice, out);
        }
        if let Some(usage) = value.get("usage").filter(|usage| usage.is_object()) {
            out.push_back(StreamEvent::Usage(read_usage(usage)));
        }
        Ok(())
    }

    /// A message where a delta would be; the rest of a completion is like the last of its chunks.
    fn whole(
        &mut self,
        answer: &Value,
        out: &mut VecDeque<StreamEvent>,
    ) -> Option<Result<(), StreamError>> {
        let mut chunk = answer.clone();
        if chunk.get("error").is_none_or(Value::is_null) {
            let choice = chunk.pointer_mut("/choices/0")?.as_object_mut()?;
            let mut message = choice.remove("message")?;
            let calls = message.get_mut("tool_calls").and_then(Value::as_array_mut);
            for (number, call) in calls.into_iter().flatten().enumerate() {
                if let Some(call) = call.as_object_mut() {
                    call.insert("index".to_owned(), json!(number));
                }
            }
            choice.insert("delta".to_owned(), message);
        }
        let event = SseEvent { name: String::new(), data: chunk.to_string() };
        Some(self.event(&event, out).and_then(|()| self.end(out)))
    }

    /// `[DONE]` is only a courtesy: the reason to finish is what ends a turn.
    fn end(&mut self, out: &mut VecDeque<StreamEvent>) -> Result<(), StreamError> {
        if self.stopped {
            return Ok(());
        }
        let Some(reason) = self.reason.take() else {
            return Err(failure::truncated("there was no `finish_reason`"));
        };
        self.stopped = true;
        out.push_back(StreamEvent::Stop { reason });
        Ok(())
    }
}

/// The text of a delta; some servers send a list of pieces.
fn content(delta: &Value) -> String {
    match delta.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(pieces)) => {
            pieces.iter().filter_map(|piece| text(piece, "text")).collect()
        }
        _ => String::new(),
    }
}

fn read_usage(usage: &Value) -> Usage {
    let details = |key: &str| usage.get(key).cloned().unwrap_or_default();
    let cache_read = count(&details("prompt_tokens_details"), "cached_tokens");
    Usage {
        input: count(usage, "prompt_tokens").saturating_sub(cache_read),
        output: count(usage, "completion_tokens"),
        cache_read,
        cache_write: 0,
        reasoning: count(&details("completion_tokens_details"), "reasoning_tokens"),
    }
}
