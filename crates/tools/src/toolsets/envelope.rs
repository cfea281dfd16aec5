//! How a toolset says what came of a call: one form for success and one for failure.
//!
//! Law: an envelope is whole. Where an answer is too long, what is inside is cut, never the frame
//! around it.

use jm_types::text::truncate;
use jm_types::{ErrorKind, ToolCall, ToolError};
use serde_json::Value;

use crate::tool::Output;

/// Which call is answered.
#[derive(Debug, Clone, Copy)]
pub struct CallRef<'a> {
    pub id: &'a str,
    pub name: &'a str,
}

impl<'a> From<&'a ToolCall> for CallRef<'a> {
    fn from(call: &'a ToolCall) -> Self {
        Self { id: &call.id, name: &call.name }
    }
}

/// A set's two forms. Each gives at most the number of bytes it is handed, but for an output that
/// says of itself that it is whole.
pub(crate) struct Envelope {
    pub(crate) success: fn(CallRef<'_>, Output, usize) -> String,
    pub(crate) failure: fn(CallRef<'_>, &ToolError, usize) -> String,
    /// How many bytes the form of a success adds to what a tool says.
    pub(crate) frame: fn(CallRef<'_>) -> usize,
}

/// Plain text; hints are lines of their own.
pub(crate) const TEXT: Envelope =
    Envelope { success: text_of_success, failure: text_of_failure, frame: |_| 0 };

fn text_of_success(_: CallRef<'_>, output: Output, limit: usize) -> String {
    match output {
        Output::Text(text) => truncate(text, limit),
        Output::Whole(text) => text,
        Output::Json(value) => value.to_string(),
    }
}

fn text_of_failure(_: CallRef<'_>, error: &ToolError, limit: usize) -> String {
    match own_json(error) {
        Some(json) => json.to_owned(),
        None => truncate(explain(error), limit),
    }
}

/// A tool's own JSON error goes through untouched (FR-ERR-JSON-TOOL-01, 02).
pub(crate) fn own_json(error: &ToolError) -> Option<&str> {
    let ErrorKind::ExecutionFailed { message, .. } = &error.kind else { return None };
    let parsed: Option<Value> = serde_json::from_str(message).ok();
    parsed.filter(Value::is_object).map(|_| message.as_str())
}

/// The message, what to do next, and what there was before the failure: in this order, so that a
/// cut takes from the end.
fn explain(error: &ToolError) -> String {
    let mut text = message(error);
    for hint in &error.hints {
        text.push_str("\nhint: ");
        text.push_str(hint);
    }
    if let Some(output) = &error.output {
        text.push_str("\n\n");
        text.push_str(output);
    }
    text
}

/// What went wrong, in one sentence.
pub(crate) fn message(error: &ToolError) -> String {
    match &error.kind {
        ErrorKind::ExecutionFailed { tool, message } => format!("{tool} failed: {message}"),
        _ => error.to_string(),
    }
}
