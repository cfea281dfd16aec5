//! A turn of the script as the events of a vendor's stream.

mod anthropic;
mod gemini;
mod openai_chat;
mod openai_responses;
mod piece;

use jm_providers::Wire;
use serde_json::{Value, json};

use crate::script::ScriptTurn;

pub(crate) use piece::StreamPiece;

pub(crate) fn pieces(wire: Wire, turn: &ScriptTurn, number: usize) -> Vec<StreamPiece> {
    match wire {
        Wire::Anthropic => anthropic::pieces(turn, number),
        Wire::OpenaiResponses => openai_responses::pieces(turn, number),
        Wire::OpenaiChat => openai_chat::pieces(turn, number),
        Wire::Gemini => gemini::pieces(turn, number),
    }
}

/// A refusal's body, in the vendor's form.
pub(crate) fn refusal(wire: Wire, status: u16, message: &str) -> Value {
    match wire {
        Wire::Anthropic => {
            json!({"type": "error", "error": {"type": kind(status), "message": message}})
        }
        Wire::OpenaiResponses | Wire::OpenaiChat => {
            json!({"error": {"message": message, "type": kind(status), "param": null, "code": null}})
        }
        Wire::Gemini => {
            let word = match status {
                429 => "RESOURCE_EXHAUSTED",
                503 | 529 => "UNAVAILABLE",
                500.. => "INTERNAL",
                _ => "INVALID_ARGUMENT",
            };
            json!({"error": {"code": status, "message": message, "status": word}})
        }
    }
}

fn kind(status: u16) -> &'static str {
    match status {
        429 => "rate_limit_error",
        529 => "overloaded_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    }
}

/// A failure within the stream, in the vendor's form; `word` is its type.
pub(crate) fn failure(wire: Wire, word: &str) -> StreamPiece {
    let message = format!("scripted {word}");
    let (name, data) = match wire {
        Wire::Anthropic => {
            ("error", json!({"type": "error", "error": {"type": word, "message": message}}))
        }
        Wire::OpenaiResponses => (
            "error",
            json!({"type": "error", "code": word, "message": message, "param": null,
                   "sequence_number": 0}),
        ),
        Wire::OpenaiChat => ("", json!({"error": {"message": message, "type": word}})),
        Wire::Gemini => ("", json!({"error": {"code": 500, "message": message, "status": word}})),
    };
    StreamPiece::Event { name, data: data.to_string() }
}
