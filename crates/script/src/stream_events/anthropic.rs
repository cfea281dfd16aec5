//! As Anthropic's Messages.

use jm_types::StopReason;
use serde_json::{Value, json};

use super::piece::{StreamPiece, call_id, fragments};
use crate::script::{ScriptStep, ScriptTurn};
use crate::signature::sign;

fn event(data: &Value) -> StreamPiece {
    let name = match data["type"].as_str().unwrap_or_default() {
        "message_start" => "message_start",
        "content_block_start" => "content_block_start",
        "content_block_delta" => "content_block_delta",
        "content_block_stop" => "content_block_stop",
        "message_delta" => "message_delta",
        "message_stop" => "message_stop",
        _ => "ping",
    };
    StreamPiece::Event { name, data: data.to_string() }
}

pub(super) fn pieces(turn: &ScriptTurn, number: usize) -> Vec<StreamPiece> {
    let usage = turn.usage;
    let mut pieces = vec![
        event(&json!({"type": "message_start", "message": {
            "id": format!("msg_script_{number}"), "type": "message", "role": "assistant",
            "model": "script", "content": [], "stop_reason": null, "stop_sequence": null,
            "usage": {"input_tokens": usage.input, "output_tokens": 1,
                      "cache_creation_input_tokens": usage.cache_write,
                      "cache_read_input_tokens": usage.cache_read},
        }})),
        event(&json!({"type": "ping"})),
    ];
    let mut index = 0;
    for step in &turn.steps {
        if let ScriptStep::Pause { ms } = step {
            pieces.push(StreamPiece::Pause { ms: *ms });
            continue;
        }
        pieces.extend(block(step, index, number));
        index += 1;
    }
    let reason = match turn.stop() {
        StopReason::EndTurn | StopReason::Other(_) => "end_turn",
        StopReason::ToolUse => "tool_use",
        StopReason::MaxTokens => "max_tokens",
        StopReason::Refusal => "refusal",
        StopReason::ContextWindow => "model_context_window_exceeded",
    };
    pieces.push(event(&json!({"type": "message_delta",
        "delta": {"stop_reason": reason, "stop_sequence": null},
        "usage": {"output_tokens": usage.output,
                  "output_tokens_details": {"thinking_tokens": usage.reasoning}}})));
    pieces.push(event(&json!({"type": "message_stop"})));
    pieces
}

fn block(step: &ScriptStep, index: usize, number: usize) -> Vec<StreamPiece> {
    let delta = |delta: Value| {
        event(&json!({"type": "content_block_delta", "index": index, "delta": delta}))
    };
    let text_delta = |text: &str| delta(json!({"type": "text_delta", "text": text}));
    let (start, deltas): (Value, Vec<StreamPiece>) = match step {
        ScriptStep::Text { text, repeat: 1 } => (
            json!({"type": "text", "text": ""}),
            fragments(text).iter().map(|piece| text_delta(piece)).collect(),
        ),
        ScriptStep::Text { text, repeat } => {
            (json!({"type": "text", "text": ""}), vec![repeated(text_delta(text), *repeat)])
        }
        ScriptStep::Thinking { text } => {
            let thoughts = fragments(text);
            let thoughts = thoughts
                .iter()
                .map(|piece| delta(json!({"type": "thinking_delta", "thinking": piece})));
            let signature = delta(json!({"type": "signature_delta", "signature": sign(text)}));
            (
                json!({"type": "thinking", "thinking": "", "signature": ""}),
                thoughts.chain([signature]).collect(),
            )
        }
        ScriptStep::Call { id, name, arguments } => {
            let id = call_id(id.as_ref(), number, index);
            let pieces = fragments(arguments);
            let pieces = pieces
                .iter()
                .map(|piece| delta(json!({"type": "input_json_delta", "partial_json": piece})));
            (json!({"type": "tool_use", "id": id, "name": name, "input": {}}), pieces.collect())
        }
        ScriptStep::Opaque { raw } => (serde_json::from_str(raw).unwrap_or_default(), Vec::new()),
        ScriptStep::Pause { .. } => return Vec::new(),
    };
    let start =
        event(&json!({"type": "content_block_start", "index": index, "content_block": start}));
    let stop = event(&json!({"type": "content_block_stop", "index": index}));
    [start].into_iter().chain(deltas).chain([stop]).collect()
}

fn repeated(piece: StreamPiece, times: u64) -> StreamPiece {
    match piece {
        StreamPiece::Event { name, data } => StreamPiece::Repeat { name, data, times },
        other => other,
    }
}
