//! The changes of a batch's calls together, for the question about them.
//!
//! Law: it is shown beside the diff of each call, never instead. Where the effect of a call cannot be foreseen, there
//! is none.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jm_tools::ops::change::diff::unified_diff;
use jm_tools::{CallContext, Expected};

use crate::ahead::CallsAhead;
use crate::batch::{Batch, CallStatus};
use crate::context;
use crate::core::Core;
use crate::files::{current, resolve};
use crate::plan::within_time;
use crate::session_context::Asker;

/// Computes it where one of the pending calls changes what another one leaves; `ahead` has all calls of the batch.
pub(crate) async fn combine_changes(
    core: &Arc<Core>,
    asker: Asker,
    batch: &Batch,
    mut ahead: CallsAhead,
) -> Option<String> {
    let files = files_that_meet(batch)?;
    let combine = move |core: &Core| {
        let now = context::for_look(core, asker, "");
        let CallContext { expected, .. } = ahead.scope(core, &now);
        let diffs = files.iter().map(|path| diff_of(core, path, &expected));
        diffs.collect::<Option<String>>()
    };
    within_time(core, "", combine).await.ok().flatten().filter(|diff| !diff.is_empty())
}

/// All files of the pending calls, if one of them is touched by two calls.
fn files_that_meet(batch: &Batch) -> Option<BTreeSet<PathBuf>> {
    let (mut files, mut meet) = (BTreeSet::new(), false);
    let pending = batch.entries.iter();
    for entry in pending.filter(|entry| matches!(entry.status, CallStatus::Pending(_))) {
        let own: BTreeSet<&PathBuf> = entry.shown_files.iter().map(|(path, _)| path).collect();
        meet |= own.iter().any(|path| files.contains(*path));
        files.extend(own.into_iter().cloned());
    }
    meet.then_some(files)
}

/// From what is there to what all calls would leave; `None` where either is not known.
fn diff_of(core: &Core, path: &Path, expected: &Expected) -> Option<String> {
    let sandbox = &core.workspace.sandbox;
    let before = current(&resolve(sandbox, path).ok()?).ok()?;
    let after = expected.get(path)?;
    let name = path.strip_prefix(sandbox.working_root().path()).unwrap_or(path);
    Some(unified_diff(&name.to_string_lossy(), before.as_deref(), Some(after)))
}
