//! Gemini's stream: every event is a piece of the one content, its parts already whole.

use std::collections::VecDeque;

use jm_types::{StopReason, StreamError, StreamErrorKind, StreamEvent, Usage};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::adapter::{Decode, Origin};
use crate::failure;
use crate::json::{count, text};
use crate::sse::SseEvent;

pub(crate) struct Decoder {
    origin: Origin,
    /// The place of the next part.
    next: usize,
    /// The unsigned part that deltas of the same kind go on with.
    open: Option<(Kind, usize)>,
    calls: usize,
    reason: Option<StopReason>,
    stopped: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Thought,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk<'a> {
    #[serde(borrow, default)]
    candidates: Vec<Candidate<'a>>,
    #[serde(default)]
    usage_metadata: Value,
    #[serde(default)]
    prompt_feedback: Value,
    #[serde(default)]
    error: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate<'a> {
    #[serde(borrow, default)]
    content: Option<Content<'a>>,
    #[serde(default)]
    finish_reason: Option<String>,
    #[serde(default)]
    finish_message: Option<String>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow, default)]
    parts: Vec<&'a RawValue>,
}

impl Decoder {
    pub(crate) fn new(origin: Origin) -> Self {
        Self { origin, next: 0, open: None, calls: 0, reason: None, stopped: false }
    }

    fn place(&mut self) -> usize {
        self.next += 1;
        self.next - 1
    }

    fn part(&mut self, raw: &str, out: &mut VecDeque<StreamEvent>) {
        let part: Value = serde_json::from_str(raw).unwrap_or_default();
        let signed = text(&part, "thoughtSignature").is_some_and(|signature| !signature.is_empty());
        let kind = match part.get("thought").and_then(Value::as_bool) {
            Some(true) => Kind::Thought,
            Some(false) | None => Kind::Text,
        };
        match (part.get("functionCall"), text(&part, "text")) {
            (Some(function), _) => self.call(function, raw, out),
            (None, Some(words)) => self.say(kind, words, signed.then_some(raw), out),
            (None, None) => self.keep(raw, out),
        }
    }

    /// A signed part is never merged with an unsigned one, and goes back as it came.
    fn say(
        &mut self,
        kind: Kind,
        words: &str,
        signed: Option<&str>,
        out: &mut VecDeque<StreamEvent>,
    ) {
        let place = match self.open {
            Some((open, place)) if open == kind && signed.is_none() => place,
            _ if words.is_empty() && signed.is_none() => return,
            _ => self.place(),
        };
        if !words.is_empty() {
            let (index, delta) = (place, words.to_owned());
            out.push_back(match kind {
                Kind::Text => StreamEvent::Text { index, delta },
                Kind::Thought => StreamEvent::Thinking { index, delta },
            });
        }
        self.open = signed.is_none().then_some((kind, place));
        if let Some(raw) = signed {
            let native = self.origin.native(raw);
            out.push_back(StreamEvent::PartSealed { index: place, native });
        }
    }

    fn call(&mut self, function: &Value, raw: &str, out: &mut VecDeque<StreamEvent>) {
        let index = self.place();
        self.open = None;
        let id = text(function, "id").unwrap_or_default().to_owned();
        self.calls += 1;
        let name = text(function, "name").unwrap_or_default().to_owned();
        out.push_back(StreamEvent::CallStarted { index, id, name });
        let arguments = arguments(raw).unwrap_or_else(|| "{}".to_owned());
        out.push_back(StreamEvent::CallArguments { index, fragment: arguments });
        out.push_back(StreamEvent::CallSealed { index, arguments: None });
        out.push_back(StreamEvent::PartSealed { index, native: self.origin.native(raw) });
    }

    fn keep(&mut self, raw: &str, out: &mut VecDeque<StreamEvent>) {
        let index = self.place();
        self.open = None;
        out.push_back(StreamEvent::PartSealed { index, native: self.origin.native(raw) });
    }

    fn finish(&mut self, word: &str, message: Option<&str>) -> Result<(), StreamError> {
        self.reason = Some(match word {
            "STOP" if self.calls > 0 => StopReason::ToolUse,
            "STOP" => StopReason::EndTurn,
            "MAX_TOKENS" => StopReason::MaxTokens,
            "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII"
            | "IMAGE_SAFETY" => StopReason::Refusal,
            // The model tried to call and failed; the same question may well succeed.
            "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" => {
                let why = message.unwrap_or("the model made a call that cannot be read");
                return Err(StreamError::new(StreamErrorKind::Server, format!("{word}: {why}")));
            }
            other => StopReason::Other(other.to_owned()),
        });
        Ok(())
    }
}

/// A call's arguments as they were written.
fn arguments(part: &str) -> Option<String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Part<'a> {
        #[serde(borrow)]
        function_call: Function<'a>,
    }
    #[derive(Deserialize)]
    struct Function<'a> {
        #[serde(borrow, default)]
        args: Option<&'a RawValue>,
    }
    let args = serde_json::from_str::<Part<'_>>(part).ok()?.function_call.args?;
    match serde_json::from_str::<Value>(args.get()).ok()? {
        Value::Null => None,
        Value::String(text) => Some(text),
        _ => Some(args.get().to_owned()),
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
        let chunk: Chunk<'_> = serde_json::from_str(&event.data)
            .map_err(|error| failure::malformed(format_args!("{error} in an event")))?;
        if !chunk.error.is_null() {
            return Err(failure::in_stream(&chunk.error));
        }
        if let Some(candidate) = chunk.candidates.first() {
            for raw in candidate.content.iter().flat_map(|content| &content.parts) {
                self.part(raw.get(), out);
            }
        }
        if chunk.usage_metadata.is_object() {
            out.push_back(StreamEvent::Usage(read_usage(&chunk.usage_metadata)));
        }
        if text(&chunk.prompt_feedback, "blockReason").is_some() {
            self.reason = Some(StopReason::Refusal);
        }
        match chunk.candidates.first() {
            Some(Candidate { finish_reason: Some(word), finish_message, .. }) => {
                self.finish(word, finish_message.as_deref())
            }
            Some(_) | None => Ok(()),
        }
    }

    fn end(&mut self, out: &mut VecDeque<StreamEvent>) -> Result<(), StreamError> {
        if self.stopped {
            return Ok(());
        }
        let Some(reason) = self.reason.take() else {
            return Err(failure::truncated("there was no `finishReason`"));
        };
        self.stopped = true;
        out.push_back(StreamEvent::Stop { reason });
        Ok(())
    }
}

fn read_usage(usage: &Value) -> Usage {
    let cache_read = count(usage, "cachedContentTokenCount");
    let reasoning = count(usage, "thoughtsTokenCount");
    let asked = count(usage, "promptTokenCount") + count(usage, "toolUsePromptTokenCount");
    Usage {
        input: asked.saturating_sub(cache_read),
        output: count(usage, "candidatesTokenCount") + reasoning,
        cache_read,
        cache_write: 0,
        reasoning,
    }
}
