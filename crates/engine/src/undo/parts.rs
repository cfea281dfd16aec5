//! The parts of an undo: calls whose files are in the journal go together, a call with layers goes by itself.
//!
//! Law: each part is whole or nothing, and the parts of one undo are taken back together by one redo.

use jm_store::CallView;
use jm_types::CallKey;

/// The calls that go together.
pub(super) fn parts(chosen: &[CallView]) -> Vec<&[CallView]> {
    let is_layered = |call: &CallView| !call.effects().layers.is_empty();
    chosen.chunk_by(|one, other| !is_layered(one) && !is_layered(other)).collect()
}

/// The name that ties the parts of one undo to each other: the key of the first.
#[derive(Debug)]
pub(super) struct Together {
    pub(super) is_many: bool,
    pub(super) first: Option<CallKey>,
}

impl Together {
    pub(super) fn key(&mut self, call: &CallKey) -> Option<CallKey> {
        let first = self.first.get_or_insert_with(|| call.clone()).clone();
        self.is_many.then_some(first)
    }
}
