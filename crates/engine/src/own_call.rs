//! The calls of our own in the journal: an undo, a redo, a held layer that is kept by hand.

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

/// The name under which the keeping of a held layer stands in the journal.
pub const KEEP: &str = "keep";

pub(crate) fn is_undo(call: &CallView) -> bool {
    call.call.name == UNDO
}

pub(crate) fn is_keep(call: &CallView) -> bool {
    call.call.name == KEEP
}

/// Tells whether it is a call of our own and not a tool's.
pub(crate) fn is_own_name(name: &str) -> bool {
    name == UNDO || name == KEEP
}
