//! The call under which an undo or a redo stands in the journal.

use jm_store::CallView;
use jm_types::CallKey;
use serde::{Deserialize, Serialize};

/// The name under which undo and redo stand in the journal.
pub const UNDO: &str = "undo";

/// The arguments of an undo: the calls that it is for.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct UndoArguments {
    pub(crate) of: Vec<CallKey>,
    /// The first of several undos that were asked for as one, where this is one of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) with: Option<CallKey>,
}

pub(crate) fn is_undo(call: &CallView) -> bool {
    call.call.name == UNDO
}
