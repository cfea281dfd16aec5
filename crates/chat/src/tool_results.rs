//! The result of a call, before it is text.

/// A result to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewResult {
    pub content: String,
    pub is_error: bool,
    pub is_json: bool,
}

impl NewResult {
    pub fn text(content: impl Into<String>) -> Self {
        Self { content: content.into(), is_error: false, is_json: false }
    }

    pub fn json(content: impl Into<String>) -> Self {
        Self { content: content.into(), is_error: false, is_json: true }
    }

    pub fn error(content: impl Into<String>) -> Self {
        Self { content: content.into(), is_error: true, is_json: false }
    }

    /// A failure that printed something first.
    pub fn error_with_output(error: &str, output: &str) -> Self {
        match output.trim().is_empty() {
            true => Self::error(error),
            false => Self::error(format!("{error}\n\nPartial output:\n{output}")),
        }
    }
}
