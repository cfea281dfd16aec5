//! A panic in a tool as that call's error (FR-EXE-04b).

use std::any::Any;

use jm_types::{ErrorKind, ToolError};

/// The error of a call that panicked. A literal message is ours; a formatted one may carry a file's
/// content, and is withheld (FR-EXE-04b-3).
pub(crate) fn panicked(payload: Option<&(dyn Any + Send)>) -> ToolError {
    let literal = payload.and_then(|payload| payload.downcast_ref::<&'static str>());
    let message = literal.copied().unwrap_or("internal error");
    ToolError::new(ErrorKind::Panicked { message })
}
