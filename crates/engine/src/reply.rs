//! From an outcome to the one result of a call.
//!
//! Law: the model gets what happened, within the limit, marker included; a terminal gets the same
//! made harmless.

use jm_tools::Output;
use jm_types::text::{sanitize, truncate};
use jm_types::{ErrorKind, ToolCall, ToolError, ToolResult};
use serde_json::Value;

pub(crate) fn reply(
    call: &ToolCall,
    outcome: Result<Output, ToolError>,
    allow_truncation: bool,
    effective_max: usize,
) -> ToolResult {
    match outcome {
        Ok(output) => {
            let cuts = allow_truncation && !output.is_whole;
            let content =
                if cuts { truncate(output.content, effective_max) } else { output.content };
            result(call, content, None)
        }
        Err(error) => {
            let content = match passthrough(&error) {
                Some(json) => json,
                None => truncate(explain(&error), effective_max),
            };
            result(call, content, Some(error.name()))
        }
    }
}

/// The result of a call that never ran; the limit holds for it too (FR-OUT-04).
pub(crate) fn refused(call: &ToolCall, error: &ToolError, effective_max: usize) -> ToolResult {
    result(call, truncate(explain(error), effective_max), Some(error.name()))
}

fn result(call: &ToolCall, content: String, error: Option<&str>) -> ToolResult {
    ToolResult {
        call_id: call.id.clone(),
        name: call.name.clone(),
        display: sanitize(&content),
        content,
        error: error.map(str::to_owned),
    }
}

/// A tool's own JSON error goes through untouched (FR-ERR-JSON-TOOL-01, 02).
fn passthrough(error: &ToolError) -> Option<String> {
    let ErrorKind::ExecutionFailed { message, .. } = &error.kind else { return None };
    let parsed: Option<Value> = serde_json::from_str(message).ok();
    parsed.filter(Value::is_object).map(|_| message.clone())
}

/// The message, what to do next, and what there was before the failure: in this order, so that a
/// cut takes from the end.
fn explain(error: &ToolError) -> String {
    let mut text = match &error.kind {
        ErrorKind::ExecutionFailed { tool, message } => format!("{tool} failed: {message}"),
        _ => error.to_string(),
    };
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
