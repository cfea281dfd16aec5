//! `{"ok":true,"data":…}` or `{"ok":false,"error":{code, message, suggestions}}` (GO-ENV).

use jm_tools::Output;
use jm_tools::toolsets::envelope::{CallRef, Envelope, message_of, text_within};
use jm_types::{DenialReason, ErrorKind, ToolError};
use serde_json::json;

pub(super) const ENVELOPE: Envelope = Envelope { success, failure, frame: |_| FRAME };

const FRAME: usize = r#"{"ok":true,"data":}"#.len();
/// Around the text of a tool that is not the set's own.
const TEXT_FRAME: usize = r#"{"output":""}"#.len();

fn success(_: CallRef<'_>, output: Output, limit: usize) -> String {
    let data = match output {
        Output::Json(value) => value,
        Output::Whole(text) => json!({"output": text}),
        Output::Text(text) => {
            json!({"output": text_within(&text, limit.saturating_sub(FRAME + TEXT_FRAME))})
        }
    };
    json!({"ok": true, "data": data}).to_string()
}

fn failure(_: CallRef<'_>, error: &ToolError, limit: usize) -> String {
    let form = |message: &str, suggestions: &[String]| {
        let error = json!({"code": code(error), "message": message, "suggestions": suggestions});
        json!({"ok": false, "error": error}).to_string()
    };
    let words = [Some(message_of(error)), error.output.clone()];
    let message = words.into_iter().flatten().collect::<Vec<_>>().join("\n\n");
    let mut suggestions = suggestions(error);
    // What to do next matters more than the end of a long message, if there is room for both.
    if form("", &suggestions).len() > limit / 2 {
        suggestions.clear();
    }
    let room = limit.saturating_sub(form("", &suggestions).len());
    form(&text_within(&message, room), &suggestions)
}

fn code(error: &ToolError) -> &'static str {
    match &error.kind {
        ErrorKind::NotFound { .. } => "not_found",
        ErrorKind::BadArgs { .. }
        | ErrorKind::BadPattern { .. }
        | ErrorKind::TooMuch { .. }
        | ErrorKind::UnknownTool { .. }
        | ErrorKind::NotReady { .. }
        | ErrorKind::SourceNotReady { .. }
        | ErrorKind::DuplicateTool { .. }
        | ErrorKind::DuplicateToolCallId { .. }
        | ErrorKind::EditFailed { .. }
        | ErrorKind::PatchFailed { .. }
        | ErrorKind::StaleFile { .. }
        | ErrorKind::Unbalanced { .. }
        | ErrorKind::SandboxViolation(DenialReason::LimitsExceeded { .. }) => "invalid_argument",
        ErrorKind::SandboxViolation(_)
        | ErrorKind::PermissionDenied { .. }
        | ErrorKind::NeedsPerson { .. }
        | ErrorKind::NotKept { .. }
        | ErrorKind::NotRunHere => "permission_denied",
        ErrorKind::Timeout { .. }
        | ErrorKind::ExecutionFailed { .. }
        | ErrorKind::Cancelled
        | ErrorKind::Panicked { .. }
        | ErrorKind::NoSpace { .. }
        | ErrorKind::NotRegular { .. }
        | ErrorKind::ReadFailed { .. }
        | ErrorKind::WriteFailed { .. }
        | ErrorKind::Io { .. }
        | ErrorKind::Unrecorded { .. } => "io_error",
    }
}

/// Near names of a missing path one by one; otherwise what the hints say (GO-SUGGEST).
fn suggestions(error: &ToolError) -> Vec<String> {
    match &error.kind {
        ErrorKind::NotFound { near, .. } if !near.is_empty() => {
            near.iter().map(|name| format!("Did you mean {name}?")).collect()
        }
        ErrorKind::SandboxViolation(DenialReason::PathOutsideSandbox { .. }) => {
            vec!["Use a relative path under `.`".to_owned()]
        }
        _ => error.hints.clone(),
    }
}
