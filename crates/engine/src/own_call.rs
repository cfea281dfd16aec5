//! The calls of our own in the journal: an undo, a redo, a held layer that is kept by hand.

use jm_store::{CallView, Record, StoredResult};
use jm_types::text::sanitize;
use jm_types::{BatchNumber, CallKey, ToolError, ToolResult};
use serde::{Deserialize, Serialize};

use crate::core::Core;

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

/// Gives a call of our own its result, and closes its batch.
pub(crate) fn record_result(
    core: &Core,
    (batch, call): (BatchNumber, CallKey),
    name: &str,
    outcome: Result<String, &ToolError>,
) -> Result<(), ToolError> {
    let (text, error) = match outcome {
        Ok(text) => (text, None),
        Err(error) => (error.to_string(), Some(error.code())),
    };
    let result = ToolResult {
        call_id: String::new(),
        name: name.to_owned(),
        display: sanitize(&text),
        content: text,
        error,
    };
    let result = StoredResult::new(&result, Vec::new());
    let finished = Record::Finished { call, result, duration_ms: 0 };
    core.recorder.records(vec![finished, Record::BatchSealed { batch }])
}
