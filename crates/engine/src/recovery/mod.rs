//! Recovery: every call that a crash left unfinished gets its one truthful result.
//!
//! Law: nothing is run, and doing it again after a crash in the middle gives the same. The facts are read
//! (`facts`), the person's choice decides (`decide`), the files converge (`converge`, `partial_change`, `layered`).

pub(crate) mod converge;
mod decide;
mod facts;
mod layered;
mod partial_change;
mod trade;

use jm_files::directory;
use jm_store::Record;
use jm_system::fault::crash_point;
use jm_types::ToolError;

use crate::core::Core;
use crate::engine::Engine;
use crate::record::done_unrecorded;
pub use decide::RecoveryChoice;
use decide::{is_interrupted, result_of};
use facts::examine;
pub use facts::{CallState, Examined, FileFact, Side};
use partial_change::{converge_call, give_theirs_back, remove_made, withdraw};
pub(crate) use trade::take_trades;

impl Engine {
    /// Gives every call its one truthful result and closes the batch. Runs nothing. Doing it again
    /// after a crash in the middle gives the same.
    ///
    /// Temporary files of dead processes are removed, but for those of `protected`: the owners of
    /// other sessions that still wait for their recovery.
    pub fn recover(
        &self,
        found: Vec<Examined>,
        choice: RecoveryChoice,
        protected: &[u32],
    ) -> Result<(), ToolError> {
        let core = self.core_arc();
        let Some(batch) = found.first().map(|call| call.view.batch) else { return Ok(()) };
        let mut undone = Vec::new();
        for call in found.into_iter().rev() {
            crash_point("recover.before_call");
            // Converging a later call may have changed what this one finds.
            let mut call = examine(&core, call.view);
            if !call.is_settled() && give_theirs_back(&core, &call)? {
                call = examine(&core, call.view);
                withdraw(&core, &call)?;
            }
            let mut is_done = call.view.result().is_some_and(|result| !is_interrupted(result));
            if !call.is_settled() {
                let state = converge_call(&core, &call, choice)?;
                is_done |= state == CallState::AllEffects;
                let mut records = vec![Record::Recovered {
                    call: call.view.call.call.clone(),
                    state: call.words(),
                    choice: choice.word().to_owned(),
                }];
                let held = settle_layers(&core, &call, state)?;
                let output = core.recorder.keep_spooled(&call.view.call.call, &call.printed);
                records.extend(result_of(&call, state, choice, output, &held));
                // At once: what is settled must not be judged again by what a later step leaves.
                core.recorder.records(records).map_err(unrecorded)?;
                core.workspace.confiner.forget_record(&call.view.call.call);
                crash_point("recover.after_call");
            }
            core.recorder.forget_spool(&call.view.call.call);
            // A call that an earlier attempt settled is looked after again; that does no harm.
            if choice == RecoveryChoice::Undo || !is_done {
                undone.push(call);
            }
        }
        let sandbox = &core.workspace.sandbox;
        directory::sweep_leftovers(sandbox, &|pid| !protected.contains(&pid));
        undone.iter().for_each(|call| remove_made(&core, call));
        crash_point("recover.before_seal");
        core.recorder.records(vec![Record::BatchSealed { batch }]).map_err(unrecorded)?;
        crash_point("recover.after_seal");
        Ok(())
    }
}

/// Leaves to a person those layers of a call that are not in the workspace; gives their names.
fn settle_layers(core: &Core, call: &Examined, state: CallState) -> Result<Vec<String>, ToolError> {
    let key = &call.view.call.call;
    match state {
        CallState::NoEffect if !call.layers.is_empty() => {
            layered::withdraw(core, key, &call.layers).map_err(unrecorded)
        }
        CallState::Held => Ok(layered::set_aside(core, key)),
        _ => Ok(Vec::new()),
    }
}

/// Files may have been put right by then; the next attempt finds them so.
fn unrecorded(error: ToolError) -> ToolError {
    done_unrecorded("recovery", error)
}
