//! What a command changes: the workspace looked at before and after.
//!
//! Law: nothing is guessed. What was not looked at is said to be untracked, so that undo never
//! promises what it cannot do.

use std::future::Future;
use std::sync::{Arc, PoisonError};

use jm_tools::{Effect, Output};
use jm_types::{ToolCall, ToolError};
use jm_workspace::index::{Budget, Index};
use jm_workspace::worker::off_thread;

use crate::engine::Core;

/// Runs the call, and records what changed around it if it is a command.
pub(crate) async fn around(
    core: &Arc<Core>,
    call: &ToolCall,
    key: &str,
    work: impl Future<Output = Result<Output, ToolError>>,
) -> Result<Output, ToolError> {
    let runs = core.registry.lookup(&call.name).is_ok_and(|t| t.spec().effect == Effect::Runs);
    if !runs || core.recorder.journal().is_none() {
        return work.await;
    }
    let before = look(core).await?;
    let outcome = work.await;
    let after = look(core).await?;
    // It has run, whatever becomes of the record: its outcome stands, and if nothing can be recorded
    // any more the next write says so.
    core.recorder.tracked(key, &before.difference(&after)).unwrap_or_default();
    outcome
}

/// Every file that is new to us is kept, so that it can be put back.
async fn look(core: &Arc<Core>) -> Result<Index, ToolError> {
    let core = Arc::clone(core);
    let looked = off_thread(move || {
        let mut known = core.index.lock().unwrap_or_else(PoisonError::into_inner);
        let mut keeper = core.recorder.keeper();
        let sandbox = &core.workspace.sandbox;
        let mut keep = |_, bytes| keeper.keep(bytes);
        let index = Index::look(sandbox, &known, Budget::default(), &mut keep);
        keeper.finish()?;
        known.clone_from(&index);
        Ok(index)
    });
    looked.await.unwrap_or_else(|_| {
        Err(ToolError::failed("tracking", "the workspace could not be looked at"))
    })
}
