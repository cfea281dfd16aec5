//! The wrapper around what a tool says: `{"tool_success":true,"result":…}`, or why there is no
//! result (IK-WRAP). A tool that worked and says no has succeeded: its error is the result.

use jm_tools::Output;
use jm_tools::toolsets::envelope::{CallRef, Envelope, json_message, message_of, text_within};
use jm_types::{DenialReason, ErrorKind, ReplaceError, ToolError};
use serde_json::{Value, json};

pub(super) const ENVELOPE: Envelope = Envelope { success, failure, frame: |_| FRAME };

const FRAME: usize = r#"{"tool_success":true,"result":}"#.len();
/// Around the text of a tool that is not the set's own.
const TEXT_FRAME: usize = r#"{"output":""}"#.len();

fn success(_: CallRef<'_>, output: Output, limit: usize) -> String {
    if let Output::Whole(text) = &output
        && is_wrapped(text)
    {
        return text.clone();
    }
    wrapped(&match output {
        Output::Json(value) => value,
        Output::Whole(text) => json!({"output": text}),
        Output::Text(text) => {
            json!({"output": text_within(&text, limit.saturating_sub(FRAME + TEXT_FRAME))})
        }
    })
}

/// An executable's answer comes in this wrapper already, whatever toolset it serves.
fn is_wrapped(text: &str) -> bool {
    let parsed: Option<Value> = serde_json::from_str(text).ok();
    parsed.is_some_and(|value| value.get("tool_success").is_some_and(Value::is_boolean))
}

fn wrapped(result: &Value) -> String {
    json!({"tool_success": true, "result": result}).to_string()
}

fn failure(call: CallRef<'_>, error: &ToolError, limit: usize) -> String {
    if let Some(own) = json_message(error) {
        if is_wrapped(own) {
            return own.to_owned();
        }
        return wrapped(&serde_json::from_str(own).unwrap_or_else(|_| json!(own)));
    }
    if let Some((code, words)) = tool_error(call.name, error) {
        let room = limit.saturating_sub(FRAME + error_json(code, "").to_string().len());
        return wrapped(&error_json(code, &text_within(&words, room)));
    }
    let form = |error_words: &str, output: &str| {
        let mut form = json!({"tool_success": false, "error": error_words});
        form["error_code"] = json!(wrapper_code(error));
        if ends_abruptly(error) {
            form["exit_code"] = Value::Null;
            form["stdout"] = json!(output);
            form["stderr"] = json!("");
        }
        form.to_string()
    };
    let words = [words(call, error), error.hints.join("; ")];
    let words: Vec<String> = words.into_iter().filter(|part| !part.is_empty()).collect();
    let words = text_within(&words.join("; "), limit.saturating_sub(form("", "").len()));
    let room = limit.saturating_sub(form(&words, "").len());
    form(&words, &text_within(error.output.as_deref().unwrap_or_default(), room))
}

/// An error as a tool itself says it.
pub(super) fn error_json(code: &str, words: &str) -> Value {
    json!({"error": words, "error_code": code})
}

/// The tool's own code and words for an operation that failed; `None` when the wrapper has to say it.
pub(super) fn tool_error(tool: &str, error: &ToolError) -> Option<(&'static str, String)> {
    let at = |path: &std::path::Path, words: &str| format!("{words}: {}", path.display());
    Some(match &error.kind {
        ErrorKind::NotFound { path, .. } if tool == "file_write" => {
            ("OPEN_FAILED", at(path, "Cannot open file"))
        }
        ErrorKind::NotFound { path, .. } => ("FILE_NOT_FOUND", at(path, "File not found")),
        ErrorKind::PermissionDenied { .. } | ErrorKind::Io { .. } if tool == "glob" => {
            ("READ_ERROR", "Read error during glob".to_owned())
        }
        ErrorKind::PermissionDenied { path, .. } => {
            ("PERMISSION_DENIED", at(path, "Permission denied"))
        }
        ErrorKind::SandboxViolation(
            DenialReason::PathOutsideSandbox { attempted, .. }
            | DenialReason::DeniedPatternMatched { attempted, .. }
            | DenialReason::ProtectedPath { attempted, .. },
        ) => ("PERMISSION_DENIED", at(attempted, "Permission denied")),
        ErrorKind::NoSpace { path, .. } => ("NO_SPACE", at(path, "No space left on device")),
        ErrorKind::NotRegular { path, what } if tool == "file_read" => match *what {
            "a directory" => ("READ_FAILED", at(path, "Failed to read file")),
            "a device" => ("SIZE_FAILED", at(path, "Cannot get file size")),
            _ => ("SEEK_FAILED", at(path, "Cannot seek file")),
        },
        ErrorKind::NotRegular { path, .. } => ("OPEN_FAILED", at(path, "Cannot open file")),
        ErrorKind::ReadFailed { path, .. } => ("READ_FAILED", at(path, "Failed to read file")),
        ErrorKind::WriteFailed { path, .. } => ("WRITE_FAILED", at(path, "Failed to write file")),
        ErrorKind::Io { path, .. } => ("OPEN_FAILED", at(path, "Cannot open file")),
        ErrorKind::BadPattern { .. } if tool == "glob" => {
            ("INVALID_PATTERN", "Invalid glob pattern".to_owned())
        }
        ErrorKind::BadPattern { message } => ("INVALID_PATTERN", message.clone()),
        ErrorKind::TooMuch { .. } => ("OUT_OF_MEMORY", "Out of memory during glob".to_owned()),
        ErrorKind::EditFailed { why, .. } => match &**why {
            ReplaceError::EmptyOld => ("INVALID_ARG", "old_string cannot be empty".to_owned()),
            ReplaceError::Same => {
                ("INVALID_ARG", "old_string and new_string are identical".to_owned())
            }
            ReplaceError::NotFound => ("NOT_FOUND", "String not found in file".to_owned()),
            ReplaceError::NotUnique { count, .. } => (
                "NOT_UNIQUE",
                format!("String found {count} times, use replace_all to replace all"),
            ),
            ReplaceError::TooLarge { .. } => {
                ("OUT_OF_MEMORY", "Out of memory during replacement".to_owned())
            }
        },
        ErrorKind::BadArgs { .. }
        | ErrorKind::NotReady { .. }
        | ErrorKind::SourceNotReady { .. }
        | ErrorKind::Unbalanced { .. }
        | ErrorKind::Timeout { .. }
        | ErrorKind::SandboxViolation(_)
        | ErrorKind::ExecutionFailed { .. }
        | ErrorKind::Cancelled
        | ErrorKind::Panicked { .. }
        | ErrorKind::UnknownTool { .. }
        | ErrorKind::DuplicateTool { .. }
        | ErrorKind::DuplicateToolCallId { .. }
        | ErrorKind::PatchFailed { .. }
        | ErrorKind::StaleFile { .. }
        | ErrorKind::NotRunHere
        | ErrorKind::Unrecorded { .. }
        | ErrorKind::NotKept { .. }
        | ErrorKind::NeedsPerson { .. } => return None,
    })
}

/// The wrapper's code for a call without any result.
fn wrapper_code(error: &ToolError) -> &'static str {
    match &error.kind {
        ErrorKind::Timeout { .. } => "TOOL_TIMEOUT",
        ErrorKind::UnknownTool { .. }
        | ErrorKind::NotReady { .. }
        | ErrorKind::SourceNotReady { .. } => "TOOL_NOT_FOUND",
        ErrorKind::BadArgs { .. }
        | ErrorKind::DuplicateTool { .. }
        | ErrorKind::DuplicateToolCallId { .. }
        | ErrorKind::PatchFailed { .. }
        | ErrorKind::StaleFile { .. }
        | ErrorKind::SandboxViolation(DenialReason::LimitsExceeded { .. }) => "INVALID_PARAMS",
        ErrorKind::Cancelled => "TOOL_CANCELLED",
        ErrorKind::SandboxViolation(_)
        | ErrorKind::NotRunHere
        | ErrorKind::Unrecorded { .. }
        | ErrorKind::NotKept { .. }
        | ErrorKind::NeedsPerson { .. } => "PERMISSION_DENIED",
        _ => "TOOL_CRASHED",
    }
}

/// The tool had started and did not end by itself.
fn ends_abruptly(error: &ToolError) -> bool {
    matches!(wrapper_code(error), "TOOL_TIMEOUT" | "TOOL_CRASHED" | "TOOL_CANCELLED")
}

fn words(call: CallRef<'_>, error: &ToolError) -> String {
    let tool = call.name;
    match &error.kind {
        ErrorKind::Timeout { elapsed, .. } => {
            format!("Tool '{tool}' timed out after {:.1} s", elapsed.as_secs_f64())
        }
        ErrorKind::UnknownTool { .. } => format!("Tool '{tool}' not found"),
        ErrorKind::ExecutionFailed { message, .. } => format!("Tool '{tool}' crashed: {message}"),
        ErrorKind::Panicked { message } => format!("Tool '{tool}' crashed: {message}"),
        _ => message_of(error),
    }
}
