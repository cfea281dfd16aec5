//! The result of a call, before it is text.

/// A result to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewResult {
    /// The text for the model.
    pub content: String,
    /// Marks the result as a failure.
    pub is_error: bool,
    /// Fences it as JSON.
    pub is_json: bool,
}

impl NewResult {
    /// A success in words.
    pub fn text(content: impl Into<String>) -> Self {
        Self { content: content.into(), is_error: false, is_json: false }
    }

    /// A success whose content is JSON.
    pub fn json(content: impl Into<String>) -> Self {
        Self { content: content.into(), is_error: false, is_json: true }
    }

    /// A failure in words.
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
