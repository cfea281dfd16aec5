//! As Gemini.

use jm_types::StopReason;
use serde_json::{Value, json};

use super::piece::{StreamPiece, fragments};
use crate::script::{ScriptStep, ScriptTurn};
use crate::signature::sign;

pub(super) fn pieces(turn: &ScriptTurn, number: usize) -> Vec<StreamPiece> {
    let chunk = |candidate: Value| {
        json!({"candidates": [candidate], "modelVersion": "script",
               "responseId": format!("resp-script-{number}")})
    };
    let part = |part: Value| {
        let content = json!({"role": "model", "parts": [part]});
        let data = chunk(json!({"index": 0, "content": content})).to_string();
        StreamPiece::Event { name: "", data }
    };
    let mut pieces = Vec::new();
    let mut signed = false;
    for step in &turn.steps {
        match step {
            ScriptStep::Text { text, repeat: 1 } => {
                pieces.extend(fragments(text).iter().map(|piece| part(json!({"text": piece}))));
            }
            ScriptStep::Text { text, repeat } => {
                if let StreamPiece::Event { name, data } = part(json!({"text": text})) {
                    pieces.push(StreamPiece::Repeat { name, data, times: *repeat });
                }
            }
            ScriptStep::Thinking { text } => {
                let thoughts = fragments(text);
                let thoughts =
                    thoughts.iter().map(|piece| part(json!({"text": piece, "thought": true})));
                pieces.extend(thoughts);
            }
            ScriptStep::Call { id, name, arguments } => {
                let args: Value = serde_json::from_str(arguments).unwrap_or_default();
                let mut function = json!({"name": name, "args": &args});
                if let Some(id) = id {
                    function["id"] = json!(id);
                }
                let mut call = json!({"functionCall": function});
                // Only the first call of a step is signed.
                if !std::mem::replace(&mut signed, true) {
                    call["thoughtSignature"] = json!(sign(&format!("{name}{args}")));
                }
                pieces.push(part(call));
            }
            ScriptStep::Opaque { raw } => {
                pieces.push(part(serde_json::from_str(raw).unwrap_or_default()))
            }
            ScriptStep::Pause { ms } => pieces.push(StreamPiece::Pause { ms: *ms }),
        }
    }
    let reason = match turn.stop() {
        StopReason::MaxTokens | StopReason::ContextWindow => "MAX_TOKENS",
        StopReason::Refusal => "SAFETY",
        StopReason::EndTurn | StopReason::ToolUse | StopReason::Other(_) => "STOP",
    };
    let usage = turn.usage;
    let input = usage.input + usage.cache_read;
    let mut last = chunk(json!({"index": 0, "finishReason": reason,
                                "content": {"role": "model", "parts": [{"text": ""}]}}));
    last["usageMetadata"] = json!({
        "promptTokenCount": input, "cachedContentTokenCount": usage.cache_read,
        "candidatesTokenCount": usage.output - usage.reasoning.min(usage.output),
        "thoughtsTokenCount": usage.reasoning, "totalTokenCount": input + usage.output,
    });
    pieces.push(StreamPiece::Event { name: "", data: last.to_string() });
    pieces
}
