//! One call's answer as programs read it: the `--json` contract (docs/formats/calls.md).

use jm_engine::Entry;
use jm_types::{RiskLevel, ToolResult};
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
        match result.error.as_deref() {
            None => Outcome::Ran,
            Some(kind) => Outcome::of_kind(kind),
        }
    }

    pub(crate) fn of_kind(kind: &str) -> Self {
        match kind {
            "needs_approval" => Outcome::NeedsApproval,
            "parse_only"
            | "denylisted"
            | "disabled"
            | "not_allowlisted"
            | "denied_by_person"
            | "path_outside_sandbox"
            | "denied_pattern_matched"
            | "protected_path" => Outcome::Denied,
            _ => Outcome::Failed,
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
    pub(crate) kind: Option<&'a str>,
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
    pub(crate) fn of(entry: &'a Entry) -> Option<Self> {
        let result = entry.result()?;
        Some(Self {
            id: &result.call_id,
            name: &result.name,
            verdict: Outcome::of(result),
            kind: result.error.as_deref(),
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
