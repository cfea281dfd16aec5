//! Findings about a document's text, with their place.

use crate::front_matter::FrontMatterError;

/// A finding. The words are those of the format's own document where it has some.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The consequence of the finding.
    pub severity: Severity,
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// One sentence.
    pub message: String,
}

/// The consequence of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// Nothing is sent until it is repaired.
    Error,
    /// The part of the document that it is about is left out.
    Warning,
}

impl From<FrontMatterError> for Diagnostic {
    fn from(error: FrontMatterError) -> Self {
        let FrontMatterError { line, column, message } = error;
        let message = format!("Front matter: {message}");
        Self { severity: Severity::Error, line, column, message }
    }
}

impl std::fmt::Display for Diagnostic {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        write!(out, "{}:{}: {severity}: {}", self.line, self.column, self.message)
    }
}

/// The first word of every finding about a block that lacks its end.
pub(crate) const UNCLOSED: &str = "Unclosed";
pub(crate) const USE_NEEDS_FENCE: &str = "Tool use requires a fenced code block with JSON input";
pub(crate) const USE_UNCLOSED: &str =
    "Unclosed fenced code block in tool use (missing closing fence)";
pub(crate) const USE_UNREADABLE: &str = "Failed to parse tool input";
pub(crate) const USE_HEADER: &str =
    "Tool use header is not `**Tool Use:** `name` (`id`)`; it is read as text";
pub(crate) const RESULT_NEEDS_FENCE: &str = "Tool result requires a fenced code block";
pub(crate) const RESULT_UNCLOSED: &str =
    "Unclosed fenced code block in tool result (missing closing fence)";
pub(crate) const RESULT_HEADER: &str =
    "Tool result header is not `**Tool Result:** `id``; it is read as text";
pub(crate) const TEXT_UNCLOSED: &str = "Unclosed fenced code block (missing closing fence)";
pub(crate) const THINKING_UNCLOSED: &str = "Unclosed thinking block (missing `</thinking>`)";
pub(crate) const BEFORE_FIRST_ROLE: &str =
    "Text before the first role marker is not sent; begin with `@You:`";
pub(crate) const FRONT_MATTER_UNCLOSED: &str =
    "Unclosed front matter (missing closing fence); it is read as text";
pub(crate) const TWO_STATUSES: &str =
    "Header and fence give different statuses; the call is pending";

pub(crate) fn unknown_status(word: &str) -> String {
    format!("Unknown tool status `{word}`; use approved, pending, rejected or denied")
}

pub(crate) fn unknown_role(word: &str) -> String {
    format!("Unknown role `{word}`; use `@System:`, `@You:` or `@Assistant:`")
}

pub(crate) fn no_call_for(id: &str) -> String {
    format!("Tool result `{id}` answers no call of the message before it; it is not sent")
}

pub(crate) fn answered_twice(id: &str) -> String {
    format!("Tool result `{id}` is given again below; the last one counts")
}

pub(crate) fn called_twice(id: &str) -> String {
    format!("Tool use `{id}` repeats an id of this message; it is not sent")
}
