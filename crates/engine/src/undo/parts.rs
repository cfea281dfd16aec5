//! The parts of an undo: calls whose files are in the journal go together, a call with layers goes by itself.
//!
//! Law: each part is whole or nothing, and the parts of one undo are taken back together by one redo.

use jm_store::{CallView, Store};
use jm_types::CallKey;

use super::layered::LayerPlan;
use super::{UndoPlan, UndoReport};
use crate::core::Core;
use crate::recovery::converge::Guard;

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

/// The steps of one part, as far as they can be done.
pub(super) enum PartPlan {
    Files(UndoPlan),
    Layers(LayerPlan),
}

impl PartPlan {
    pub(super) fn new(
        (core, store): (&Core, &Store),
        part: &[CallView],
        guard: Guard,
        report: &mut UndoReport,
    ) -> Self {
        match part {
            [call] if !call.effects().layers.is_empty() => {
                Self::Layers(LayerPlan::new(core, store, call, guard, report))
            }
            part => {
                let ground = (&*core.workspace.sandbox, store);
                Self::Files(UndoPlan::new(ground, part, guard, report))
            }
        }
    }

    pub(super) fn is_complete(&self) -> bool {
        match self {
            Self::Files(plan) => plan.is_complete,
            Self::Layers(plan) => plan.is_complete,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Files(plan) => plan.steps.is_empty(),
            Self::Layers(plan) => plan.is_empty(),
        }
    }
}

impl UndoReport {
    pub(super) fn join(&mut self, other: UndoReport) {
        self.calls.extend(other.calls);
        self.redone.extend(other.redone);
        self.is_complete &= other.is_complete;
        self.restored.extend(other.restored);
        self.removed.extend(other.removed);
        self.skipped.extend(other.skipped);
        self.gaps.extend(other.gaps);
        self.has_commands |= other.has_commands;
    }
}
