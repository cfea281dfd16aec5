//! As OpenAI's Chat Completions.

use jm_types::StopReason;
use serde_json::{Value, json};

use super::piece::{StreamPiece, call_id, fragments};
use crate::script::{ScriptStep, ScriptTurn};

pub(super) fn pieces(turn: &ScriptTurn, number: usize) -> Vec<StreamPiece> {
    let chunk = |choices: Value, usage: Value| StreamPiece::Event {
        name: "",
        data: json!({"id": format!("chatcmpl-script-{number}"), "object": "chat.completion.chunk",
                     "created": 0, "model": "script", "choices": choices, "usage": usage})
        .to_string(),
    };
    let delta = |delta: Value| {
        let choice = json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": null}]);
        chunk(choice, Value::Null)
    };
    let mut pieces = vec![delta(json!({"role": "assistant", "content": ""}))];
    let mut calls = 0;
    for step in &turn.steps {
        match step {
            ScriptStep::Text { text, repeat: 1 } => {
                pieces.extend(fragments(text).iter().map(|piece| delta(json!({"content": piece}))));
            }
            ScriptStep::Text { text, repeat } => {
                if let StreamPiece::Event { name, data } = delta(json!({"content": text})) {
                    pieces.push(StreamPiece::Repeat { name, data, times: *repeat });
                }
            }
            ScriptStep::Thinking { text } => {
                let thoughts = fragments(text);
                let thoughts =
                    thoughts.iter().map(|piece| delta(json!({"reasoning_content": piece})));
                pieces.extend(thoughts);
            }
            ScriptStep::Call { id, name, arguments } => {
                let id = call_id(id.as_ref(), number, calls);
                pieces.push(delta(json!({"tool_calls": [{"index": calls, "id": id,
                    "type": "function", "function": {"name": name, "arguments": ""}}]})));
                let arguments = fragments(arguments);
                pieces.extend(arguments.iter().map(|piece| {
                    delta(json!({"tool_calls": [{"index": calls,
                        "function": {"arguments": piece}}]}))
                }));
                calls += 1;
            }
            ScriptStep::Opaque { raw } => {
                pieces.push(delta(serde_json::from_str(raw).unwrap_or_default()));
            }
            ScriptStep::Pause { ms } => pieces.push(StreamPiece::Pause { ms: *ms }),
        }
    }
    let reason = match turn.stop() {
        StopReason::ToolUse => "tool_calls",
        StopReason::MaxTokens | StopReason::ContextWindow => "length",
        StopReason::Refusal => "content_filter",
        StopReason::EndTurn | StopReason::Other(_) => "stop",
    };
    let last = json!([{"index": 0, "delta": {}, "logprobs": null, "finish_reason": reason}]);
    pieces.push(chunk(last, Value::Null));
    let usage = turn.usage;
    let input = usage.input + usage.cache_read;
    pieces.push(chunk(
        json!([]),
        json!({"prompt_tokens": input, "completion_tokens": usage.output,
               "total_tokens": input + usage.output,
               "prompt_tokens_details": {"cached_tokens": usage.cache_read},
               "completion_tokens_details": {"reasoning_tokens": usage.reasoning}}),
    ));
    pieces.push(StreamPiece::Event { name: "", data: "[DONE]".to_owned() });
    pieces
}
