//! One call's answer as programs read it: the `--json` contract (docs/formats/calls.md).

use jm_engine::CallEntry;
use jm_types::{ErrorCode, RiskLevel, ToolResult};
use serde::Serialize;

use super::exit;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    Ran,
    Failed,
    Denied,
    NeedsApproval,
}

impl Outcome {
    pub(crate) fn of(result: &ToolResult) -> Self {
        result.error.map_or(Outcome::Ran, Outcome::of_code)
    }

    /// The exit code of a call follows from its error's code, and from nothing else.
    pub(crate) fn of_code(code: ErrorCode) -> Self {
        match code {
            ErrorCode::NeedsApproval => Outcome::NeedsApproval,
            ErrorCode::ParseOnly
            | ErrorCode::NotKept
            | ErrorCode::Denylisted
            | ErrorCode::Disabled
            | ErrorCode::NotAllowlisted
            | ErrorCode::DeniedByPerson
            | ErrorCode::PathOutsideSandbox
            | ErrorCode::DeniedPatternMatched
            | ErrorCode::ProtectedPath => Outcome::Denied,
            ErrorCode::BadArgs
            | ErrorCode::BadPattern
            | ErrorCode::LimitsExceeded
            | ErrorCode::Timeout
            | ErrorCode::ExecutionFailed
            | ErrorCode::Cancelled
            | ErrorCode::Panicked
            | ErrorCode::UnknownTool
            | ErrorCode::ToolNotReady
            | ErrorCode::DuplicateTool
            | ErrorCode::DuplicateToolCallId
            | ErrorCode::PatchFailed
            | ErrorCode::StaleFile
            | ErrorCode::NotFound
            | ErrorCode::EditFailed
            | ErrorCode::Unbalanced
            | ErrorCode::IoError
            | ErrorCode::JournalError
            | ErrorCode::Interrupted
            | ErrorCode::Discarded
            | ErrorCode::UnknownOutcome
            | ErrorCode::Unlisted => Outcome::Failed,
        }
    }

    pub(crate) fn exit_code(self) -> u8 {
        match self {
            Outcome::Ran => exit::RAN,
            Outcome::Failed => exit::FAILED,
            Outcome::Denied | Outcome::NeedsApproval => exit::DENIED,
        }
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct Answer<'a> {
    pub(crate) id: &'a str,
    pub(crate) name: &'a str,
    pub(crate) verdict: Outcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kind: Option<ErrorCode>,
    pub(crate) content: &'a str,
    pub(crate) display: &'a str,
    pub(crate) summary: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) risk: Option<RiskLevel>,
    pub(crate) rule: &'a str,
    pub(crate) duration_ms: u64,
    pub(crate) call: &'a str,
}

impl<'a> Answer<'a> {
    /// `None` while the call has no result.
    pub(crate) fn of(entry: &'a CallEntry) -> Option<Self> {
        let result = entry.result()?;
        Some(Self {
            id: &result.call_id,
            name: &result.name,
            verdict: Outcome::of(result),
            kind: result.error,
            content: &result.content,
            display: &result.display,
            summary: &entry.summary,
            risk: entry.risk,
            rule: &entry.rule,
            duration_ms: entry.duration_ms,
            call: &entry.key,
        })
    }
}
