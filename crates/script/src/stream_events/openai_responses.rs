//! As OpenAI's Responses.

use jm_types::StopReason;
use serde_json::{Value, json};

use super::piece::{StreamPiece, call_id, fragments};
use crate::script::{ScriptStep, ScriptTurn};
use crate::signature::sign;

/// Numbers the events as they are made.
struct Speaker {
    pieces: Vec<StreamPiece>,
    number: usize,
    output: Vec<Value>,
}

impl Speaker {
    fn event(&mut self, name: &'static str, mut data: Value) {
        data["type"] = json!(name);
        data["sequence_number"] = json!(self.pieces.len());
        self.pieces.push(StreamPiece::Event { name, data: data.to_string() });
    }

    fn item(&mut self, opened: &Value, whole: Value, between: impl FnOnce(&mut Self, usize)) {
        let place = self.output.len();
        self.event("response.output_item.added", json!({"output_index": place, "item": opened}));
        between(self, place);
        self.event("response.output_item.done", json!({"output_index": place, "item": &whole}));
        self.output.push(whole);
    }

    fn step(&mut self, step: &ScriptStep) {
        let place = self.output.len();
        match step {
            ScriptStep::Text { text, repeat } => self.text(text, *repeat),
            ScriptStep::Thinking { text } => self.thinking(text),
            ScriptStep::Call { id, name, arguments } => {
                let (id, item) = (call_id(id.as_ref(), self.number, place), self.id("fc", place));
                let call = |arguments: &str, status: &str| {
                    json!({"type": "function_call", "id": item, "call_id": id, "name": name,
                           "arguments": arguments, "status": status})
                };
                let opened = call("", "in_progress");
                self.item(&opened, call(arguments, "completed"), |speaker, place| {
                    for piece in fragments(arguments) {
                        speaker.event(
                            "response.function_call_arguments.delta",
                            json!({"item_id": item, "output_index": place, "delta": piece}),
                        );
                    }
                    speaker.event(
                        "response.function_call_arguments.done",
                        json!({"item_id": item, "output_index": place, "name": name,
                               "arguments": arguments}),
                    );
                });
            }
            ScriptStep::Opaque { raw } => {
                let item: Value = serde_json::from_str(raw).unwrap_or_default();
                self.item(&item.clone(), item, |_, _| {});
            }
            ScriptStep::Pause { ms } => self.pieces.push(StreamPiece::Pause { ms: *ms }),
        }
    }

    /// A text that repeats is said once only where it is said whole.
    fn text(&mut self, text: &str, repeat: u64) {
        let id = self.id("msg", self.output.len());
        let part = json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []});
        let message = |content: Value, status: &str| {
            json!({"type": "message", "id": id, "role": "assistant", "status": status,
                   "content": content})
        };
        let opened = message(json!([]), "in_progress");
        self.item(&opened, message(json!([part]), "completed"), |speaker, place| {
            let at = |extra: Value| {
                let mut data = json!({"item_id": id, "output_index": place, "content_index": 0});
                if let (Some(data), Value::Object(extra)) = (data.as_object_mut(), extra) {
                    data.extend(extra);
                }
                data
            };
            let empty =
                json!({"type": "output_text", "text": "", "annotations": [], "logprobs": []});
            speaker.event("response.content_part.added", at(json!({"part": empty})));
            let name = "response.output_text.delta";
            let deltas = if repeat == 1 { fragments(text) } else { vec![text.to_owned()] };
            for piece in deltas {
                speaker.event(name, at(json!({"delta": piece, "logprobs": []})));
            }
            if repeat > 1
                && let Some(StreamPiece::Event { name, data }) = speaker.pieces.pop()
            {
                speaker.pieces.push(StreamPiece::Repeat { name, data, times: repeat });
            }
            speaker.event("response.output_text.done", at(json!({"text": text, "logprobs": []})));
            speaker.event("response.content_part.done", at(json!({"part": part})));
        });
    }

    fn thinking(&mut self, text: &str) {
        let id = self.id("rs", self.output.len());
        let reasoning = |summary: Value| {
            json!({"type": "reasoning", "id": id, "summary": summary,
                   "encrypted_content": sign(&format!("{id}{text}"))})
        };
        let part = json!({"type": "summary_text", "text": text});
        self.item(&reasoning(json!([])), reasoning(json!([&part])), |speaker, place| {
            let at = || json!({"item_id": id, "output_index": place, "summary_index": 0});
            let mut added = at();
            added["part"] = json!({"type": "summary_text", "text": ""});
            speaker.event("response.reasoning_summary_part.added", added);
            for piece in fragments(text) {
                let mut delta = at();
                delta["delta"] = json!(piece);
                speaker.event("response.reasoning_summary_text.delta", delta);
            }
            let mut done = at();
            done["text"] = json!(text);
            speaker.event("response.reasoning_summary_text.done", done);
            let mut done = at();
            done["part"] = part.clone();
            speaker.event("response.reasoning_summary_part.done", done);
        });
    }

    fn id(&self, kind: &str, place: usize) -> String {
        format!("{kind}_script_{}_{place}", self.number)
    }
}

pub(super) fn pieces(turn: &ScriptTurn, number: usize) -> Vec<StreamPiece> {
    let mut speaker = Speaker { pieces: Vec::new(), number, output: Vec::new() };
    let response = |status: &str, output: &[Value]| {
        json!({"id": format!("resp_script_{number}"), "object": "response", "created_at": 0,
               "status": status, "model": "script", "output": output, "error": null,
               "incomplete_details": null, "instructions": null, "metadata": {},
               "parallel_tool_calls": true, "temperature": null, "tool_choice": "auto",
               "tools": [], "top_p": null})
    };
    let started = response("in_progress", &[]);
    speaker.event("response.created", json!({"response": &started}));
    speaker.event("response.in_progress", json!({"response": started}));
    turn.steps.iter().for_each(|step| speaker.step(step));
    let (name, status, reason) = match turn.stop() {
        StopReason::MaxTokens | StopReason::ContextWindow => {
            ("response.incomplete", "incomplete", Some("max_output_tokens"))
        }
        StopReason::Refusal => ("response.incomplete", "incomplete", Some("content_filter")),
        StopReason::EndTurn | StopReason::ToolUse | StopReason::Other(_) => {
            ("response.completed", "completed", None)
        }
    };
    let mut ended = response(status, &speaker.output);
    if let Some(reason) = reason {
        ended["incomplete_details"] = json!({"reason": reason});
    }
    let usage = turn.usage;
    let input = usage.input + usage.cache_read + usage.cache_write;
    ended["usage"] = json!({
        "input_tokens": input, "output_tokens": usage.output,
        "total_tokens": input + usage.output,
        "input_tokens_details": {"cached_tokens": usage.cache_read,
                                 "cache_write_tokens": usage.cache_write},
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
    });
    speaker.event(name, json!({"response": ended}));
    speaker.pieces
}
