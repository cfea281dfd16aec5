//! What a command changes: the workspace looked at before and after.
//!
//! Law: nothing is guessed. What was not looked at is said to be untracked, so that undo never
//! promises what it cannot do.

use std::collections::BTreeMap;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use jm_store::{FileRow, IndexChange};
use jm_tools::{Effect, Output};
use jm_types::{ToolCall, ToolError};
use jm_workspace::index::{Budget, Index, IndexedFile};
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
        if known.files.is_empty() {
            known.files = remembered(&core);
        }
        let mut keep = |_, bytes| keeper.keep(bytes);
        let index = Index::look(sandbox, &known, Budget::default(), &mut keep);
        keeper.finish(Some(change(sandbox.working_root().path(), &known, &index)))?;
        match index.cut {
            // What was not reached this time is what it was.
            Some(_) => known.files.extend(index.files.clone()),
            None => known.clone_from(&index),
        }
        Ok(index)
    });
    looked.await.unwrap_or_else(|_| {
        Err(ToolError::failed("tracking", "the workspace could not be looked at"))
    })
}

/// What an earlier process saw. What cannot be read is looked at again.
fn remembered(core: &Core) -> BTreeMap<PathBuf, IndexedFile> {
    let root = core.workspace.sandbox.working_root().path();
    let rows = core.recorder.journal().and_then(|journal| journal.store().files(root).ok());
    let file = |row: FileRow| {
        let stat = serde_json::from_str(&row.stat).ok()?;
        Some((row.path, IndexedFile { stat, sha256: row.sha256, is_settled: true }))
    };
    rows.unwrap_or_default().into_iter().filter_map(file).collect()
}

/// Only what is sure is remembered: a file that changed in the moment it was read is not.
fn change(root: &Path, known: &Index, index: &Index) -> IndexChange {
    let row = |(path, file): (&PathBuf, &IndexedFile)| {
        let is_new = file.is_settled && known.files.get(path) != Some(file);
        let stat = is_new.then(|| serde_json::to_string(&file.stat).ok()).flatten()?;
        Some(FileRow { path: path.clone(), stat, sha256: file.sha256 })
    };
    let is_gone = |path: &&PathBuf| match index.files.get(*path) {
        Some(file) => !file.is_settled,
        None => index.could_see(path),
    };
    IndexChange {
        root: root.to_owned(),
        seen: index.files.iter().filter_map(row).collect(),
        gone: known.files.keys().filter(is_gone).cloned().collect(),
    }
}
