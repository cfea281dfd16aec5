//! A turn of the script as the events of a vendor's stream.

mod anthropic;
mod gemini;
mod openai_chat;
mod openai_responses;

use serde_json::{Value, json};

use super::script::Turn;
use crate::wire::Wire;

/// What is sent, before anything goes wrong with it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Piece {
    Event {
        name: &'static str,
        data: String,
    },
    /// The same event many times over, made one by one.
    Repeat {
        name: &'static str,
        data: String,
        times: u64,
    },
    Pause {
        ms: u64,
    },
}

pub(crate) fn pieces(wire: Wire, turn: &Turn, number: usize) -> Vec<Piece> {
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
pub(crate) fn failure(wire: Wire, word: &str) -> Piece {
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
    Piece::Event { name, data: data.to_string() }
}

/// The id of a call that the script gives none.
fn call_id(given: Option<&String>, turn: usize, place: usize) -> String {
    given.cloned().unwrap_or_else(|| format!("call_{turn}_{place}"))
}

/// A text in the pieces in which it would come.
fn fragments(text: &str) -> Vec<String> {
    const LENGTH: usize = 24;
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(LENGTH).map(|piece| piece.iter().collect()).collect()
}
