//! Reasons why an edit is refused.

/// A reason why a document cannot be edited as asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's message says it")]
pub enum EditError {
    #[error("the document has no call `{id}`")]
    NoCall { id: String },
    #[error("the call `{id}` has a result or a placeholder already")]
    Answered { id: String },
    #[error("the call `{id}` has no placeholder")]
    NoPlaceholder { id: String },
    #[error("the document has no message of the assistant")]
    NoAssistant,
    #[error(
        "`{name}` cannot be written in a header: it is empty or holds a backtick or a line end"
    )]
    Unwritable { name: String },
    #[error("line {line}: this block has no end and would swallow what is added; close it first")]
    Swallowed { line: usize },
}
