//! From an outcome to the one result of a call.
//!
//! Law: the model gets what happened in the toolset's envelope, within the limit, marker included;
//! a terminal gets the same made harmless.

use jm_tools::Output;
use jm_tools::toolsets::{Dialect, STANDARD};
use jm_types::text::{sanitize, truncate};
use jm_types::{ErrorCode, ToolCall, ToolError, ToolResult};
use serde::{Deserialize, Serialize};

/// How results look: the toolset's envelope, and the most bytes one may take.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct ResultForm {
    /// A session that was stored gets it again from the engine.
    #[serde(skip, default = "standard")]
    pub(crate) dialect: &'static Dialect,
    pub(crate) limit: usize,
}

fn standard() -> &'static Dialect {
    &STANDARD
}

/// The answer to a call.
pub(crate) struct Reply {
    pub(crate) result: ToolResult,
    /// All of it, where the result had to be cut.
    pub(crate) uncut: Option<String>,
}

pub(crate) fn reply(
    form: ResultForm,
    call: &ToolCall,
    outcome: Result<Output, ToolError>,
    allow_truncation: bool,
) -> Reply {
    let limit = if allow_truncation { form.limit } else { usize::MAX };
    let (whole, cut, error) = match outcome {
        Ok(output) => {
            let whole = form.dialect.success(call.into(), output.clone(), usize::MAX);
            (whole, form.dialect.success(call.into(), output, limit), None)
        }
        Err(error) => {
            let whole = in_words(ResultForm { limit: usize::MAX, ..form }, call, &error);
            (whole, in_words(form, call, &error), Some(error.code()))
        }
    };
    let uncut = (cut != whole).then_some(whole);
    Reply { result: result(call, cut, error), uncut }
}

/// The result of a tool that has an envelope of its own.
pub(crate) fn as_it_is(call: &ToolCall, answer: String) -> ToolResult {
    result(call, answer, None)
}

/// The result of a call that failed or never ran; the limit holds for it too (FR-OUT-04).
pub(crate) fn refused(form: ResultForm, call: &ToolCall, error: &ToolError) -> ToolResult {
    result(call, in_words(form, call, error), Some(error.code()))
}

/// The text of a failure, in its own envelope or in the toolset's.
fn in_words(form: ResultForm, call: &ToolCall, error: &ToolError) -> String {
    match &error.verbatim {
        Some(words) => words.0.clone(),
        None => form.dialect.failure(call.into(), error, form.limit),
    }
}

/// The longest text of arguments that a result repeats.
const LONGEST_EDIT: usize = 2000;

/// A result that begins with the arguments that a person wrote, since the model wrote others.
pub(crate) fn with_edit_told(result: ToolResult, arguments: &str) -> ToolResult {
    let told = truncate(arguments.to_owned(), LONGEST_EDIT);
    let content =
        format!("The user changed the arguments of this call to: {told}\n\n{}", result.content);
    ToolResult { display: sanitize(&content), content, ..result }
}

fn result(call: &ToolCall, content: String, error: Option<ErrorCode>) -> ToolResult {
    ToolResult {
        call_id: call.id.clone(),
        name: call.name.clone(),
        display: sanitize(&content),
        content,
        error,
    }
}
