//! `{id, name, ok, result}` or `{id, name, ok, error{type, message, details, recovery}}` (FJ-PROTO-02,
//! FJ-ERR): one error for people and programs.

use std::path::Path;

use jm_tools::Output;
use jm_tools::toolsets::envelope::{CallRef, Envelope, message_of, text_within};
use jm_types::text::json_length;
use jm_types::{DenialReason, ErrorKind, ToolError};
use serde_json::{Map, Value, json};

pub(super) const ENVELOPE: Envelope = Envelope { success, failure, frame };

/// Around the text of a tool that is not the set's own.
const TEXT_FRAME: usize = r#"{"output":""}"#.len();

fn success(call: CallRef<'_>, output: Output, limit: usize) -> String {
    let result = match output {
        Output::Json(value) => value,
        Output::Whole(text) => json!({"output": text}),
        Output::Text(text) => {
            let room = limit.saturating_sub(frame(call) + TEXT_FRAME);
            json!({"output": text_within(&text, room)})
        }
    };
    json!({"id": call.id, "name": call.name, "ok": true, "result": result}).to_string()
}

fn frame(call: CallRef<'_>) -> usize {
    json!({"id": call.id, "name": call.name, "ok": true, "result": null}).to_string().len() - 4
}

fn failure(call: CallRef<'_>, error: &ToolError, limit: usize) -> String {
    let form = |message: &str, details: &Value, recovery: &[String]| {
        let kind = type_of(error);
        let error =
            json!({"type": kind, "message": message, "details": details, "recovery": recovery});
        json!({"id": call.id, "name": call.name, "ok": false, "error": error}).to_string()
    };
    let message = message_of(error);
    let mut details = details(error);
    let mut recovery = recovery(error);
    // The message matters most; what was printed before the failure fills what is left.
    if form(&message, &json!({"kind": error.name()}), &recovery).len() > limit {
        recovery.clear();
    }
    if form(&message, &Value::Object(details.clone()), &recovery).len() > limit {
        details = Map::from_iter([("kind".to_owned(), json!(error.name()))]);
    }
    if let Some(output) = &error.output {
        details.insert("output".to_owned(), json!(""));
        let used = form(&message, &Value::Object(details.clone()), &recovery).len();
        let output = text_within(output, limit.saturating_sub(used));
        details.insert("output".to_owned(), json!(output));
    }
    let details = Value::Object(details);
    let used = form("", &details, &recovery).len();
    form(
        &text_within(&message, limit.saturating_sub(used).max(json_length("…"))),
        &details,
        &recovery,
    )
}

/// Forj's three types of error.
fn type_of(error: &ToolError) -> &'static str {
    match &error.kind {
        ErrorKind::NotFound { .. }
        | ErrorKind::PermissionDenied { .. }
        | ErrorKind::NoSpace { .. }
        | ErrorKind::NotRegular { .. }
        | ErrorKind::Unrecorded { .. }
        | ErrorKind::ReadFailed { .. }
        | ErrorKind::WriteFailed { .. }
        | ErrorKind::Io { .. } => "file-error",
        ErrorKind::Timeout { .. }
        | ErrorKind::NotReady { .. }
        | ErrorKind::SourceNotReady { .. }
        | ErrorKind::ExecutionFailed { .. }
        | ErrorKind::Cancelled
        | ErrorKind::Panicked { .. } => "process-error",
        ErrorKind::BadArgs { .. }
        | ErrorKind::BadPattern { .. }
        | ErrorKind::TooMuch { .. }
        | ErrorKind::SandboxViolation(_)
        | ErrorKind::UnknownTool { .. }
        | ErrorKind::DuplicateTool { .. }
        | ErrorKind::DuplicateToolCallId { .. }
        | ErrorKind::PatchFailed { .. }
        | ErrorKind::StaleFile { .. }
        | ErrorKind::EditFailed { .. }
        | ErrorKind::Unbalanced { .. }
        | ErrorKind::NotRunHere
        | ErrorKind::NotKept { .. }
        | ErrorKind::NeedsPerson { .. } => "validation-error",
    }
}

/// The details for a program: the kind, and the file where there is one.
fn details(error: &ToolError) -> Map<String, Value> {
    let mut details = Map::from_iter([("kind".to_owned(), json!(error.name()))]);
    if let Some(path) = path_of(error) {
        details.insert("path".to_owned(), json!(path.to_string_lossy()));
    }
    if let ErrorKind::Unbalanced { found, .. } = &error.kind {
        details.insert("errors".to_owned(), json!(found));
    }
    details
}

fn path_of(error: &ToolError) -> Option<&Path> {
    match &error.kind {
        ErrorKind::PatchFailed { file, .. }
        | ErrorKind::StaleFile { file, .. }
        | ErrorKind::EditFailed { file, .. }
        | ErrorKind::Unbalanced { file, .. } => Some(file),
        ErrorKind::NotFound { path, .. }
        | ErrorKind::PermissionDenied { path, .. }
        | ErrorKind::NoSpace { path, .. }
        | ErrorKind::NotRegular { path, .. }
        | ErrorKind::ReadFailed { path, .. }
        | ErrorKind::WriteFailed { path, .. }
        | ErrorKind::Io { path, .. } => Some(path),
        ErrorKind::SandboxViolation(
            DenialReason::PathOutsideSandbox { attempted, .. }
            | DenialReason::DeniedPatternMatched { attempted, .. }
            | DenialReason::ProtectedPath { attempted, .. },
        ) => Some(attempted),
        ErrorKind::BadArgs { .. }
        | ErrorKind::BadPattern { .. }
        | ErrorKind::TooMuch { .. }
        | ErrorKind::Timeout { .. }
        | ErrorKind::NotReady { .. }
        | ErrorKind::SourceNotReady { .. }
        | ErrorKind::SandboxViolation(_)
        | ErrorKind::ExecutionFailed { .. }
        | ErrorKind::Cancelled
        | ErrorKind::Panicked { .. }
        | ErrorKind::UnknownTool { .. }
        | ErrorKind::DuplicateTool { .. }
        | ErrorKind::DuplicateToolCallId { .. }
        | ErrorKind::NotRunHere
        | ErrorKind::Unrecorded { .. }
        | ErrorKind::NotKept { .. }
        | ErrorKind::NeedsPerson { .. } => None,
    }
}

/// The error's own hints, else those for its type.
fn recovery(error: &ToolError) -> Vec<String> {
    if !error.hints.is_empty() {
        return error.hints.clone();
    }
    let lines: &[&str] = match &error.kind {
        ErrorKind::NotFound { .. } => &["Check the path", "List the files of its directory"],
        ErrorKind::PermissionDenied { .. } => &["Check file permissions", "Try a different file"],
        ErrorKind::NoSpace { .. } => &["Free disk space, then call again"],
        ErrorKind::NotRegular { .. } => &["Use the path of a regular file"],
        ErrorKind::Unrecorded { .. }
        | ErrorKind::ReadFailed { .. }
        | ErrorKind::WriteFailed { .. }
        | ErrorKind::Io { .. } => &["Check that the file is there and can be used"],
        ErrorKind::SandboxViolation(reason) => denial(reason),
        ErrorKind::NeedsPerson { .. } => &["Ask the user to approve the call"],
        ErrorKind::NotKept { .. } => &["Ask the user to decide about what was set aside"],
        ErrorKind::Timeout { .. } => &["Give it more time", "Do less in one command"],
        ErrorKind::Cancelled => &["Ask the user how to go on"],
        ErrorKind::NotReady { .. }
        | ErrorKind::SourceNotReady { .. }
        | ErrorKind::ExecutionFailed { .. } => &["Read the output, and correct the command"],
        ErrorKind::Panicked { .. } => &["Try another way, and report this as a bug"],
        ErrorKind::UnknownTool { .. } | ErrorKind::DuplicateTool { .. } => {
            &["Use one of the tools that are offered"]
        }
        ErrorKind::DuplicateToolCallId { .. } => &["Give every call an id of its own"],
        ErrorKind::NotRunHere => &["Wait for the result that the user supplies"],
        ErrorKind::StaleFile { .. } => &["Read the file, then send the change again"],
        ErrorKind::BadArgs { .. }
        | ErrorKind::BadPattern { .. }
        | ErrorKind::TooMuch { .. }
        | ErrorKind::PatchFailed { .. }
        | ErrorKind::EditFailed { .. }
        | ErrorKind::Unbalanced { .. } => &["Correct the arguments and call again"],
    };
    lines.iter().map(|line| (*line).to_owned()).collect()
}

/// The remedies where a rule or a person says no: never the same call again.
fn denial(reason: &DenialReason) -> &'static [&'static str] {
    match reason {
        DenialReason::PathOutsideSandbox { .. } => &["Use a path inside the project root"],
        DenialReason::DeniedByPerson { .. } => {
            &["Do not repeat the call", "Ask the user what to do instead"]
        }
        DenialReason::DeniedPatternMatched { .. } => &[
            "Work without this file; it is kept from tools",
            "Ask the user for what you need of it",
        ],
        DenialReason::ProtectedPath { .. } => &["Ask the user to make this change"],
        DenialReason::Denylisted { .. }
        | DenialReason::OffByDefault { .. }
        | DenialReason::NotAllowlisted { .. }
        | DenialReason::Disabled => &["Use another tool", "Ask the user to allow this one"],
        DenialReason::LimitsExceeded { .. } => &["Ask for less in one call"],
    }
}
