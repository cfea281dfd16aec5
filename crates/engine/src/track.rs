//! Tracking: the changes of a command, found by looking at the workspace before and after.
//!
//! Law: nothing is guessed. What was not looked at is said to be untracked, so that undo never
//! promises what it cannot do.

use std::collections::BTreeSet;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use jm_files::Sandbox;
use jm_files::git_control;
use jm_files::index::{
    FileStat, Index, IndexDifference, IndexMemory, IndexedFile, Known, LookBudget, ReadScope,
};
use jm_files::names::protected_part;
use jm_process::confine::ProtectedNames;
use jm_store::{Record, StoredFile, Tracking};
use jm_system::clock::now_epoch_ms;
use jm_system::fault::crash_point;
use jm_system::worker::off_thread;
use jm_tools::Output;
use jm_types::{CallKey, ToolCall, ToolError, ToolEvent};

use crate::concurrent::{A_MOMENT, Beside, without_theirs};
use crate::content_keeper::ContentKeeper;
use crate::core::Core;
use crate::effects::effects_of;
use crate::record::{CallRecorder, reason};

/// Runs the call, and records what changed around it if it is a command.
pub(crate) async fn around(
    core: &Arc<Core>,
    call: &ToolCall,
    key: &CallKey,
    work: impl Future<Output = Result<Output, ToolError>>,
) -> Result<Output, ToolError> {
    let may_write = core.registry.lookup(&call.name).is_ok_and(|tool| tool.may_write_workspace());
    if !may_write {
        return work.await;
    }
    let sandbox = &core.workspace.sandbox;
    let names = core.workspace.confiner.protected_names(sandbox);
    if core.recorder.journal().is_none() {
        let outcome = work.await;
        tell_protected(core, call, &names, |_| true, &IndexDifference::default()).await;
        return outcome;
    }
    let beside = Beside::watch(core, now_epoch_ms());
    let before = look(core, ReadScope::Unknown).await?;
    let outcome = work.await;
    // It has run, whatever becomes of the look and the record: its outcome stands, and if nothing can be
    // recorded any more the next write says so.
    let difference = match look(core, ReadScope::Moved).await {
        Ok(after) => before.difference(&after),
        Err(error) => IndexDifference { gap: Some(reason(&error)), ..IndexDifference::default() },
    };
    tracked(core, key, beside, &difference).unwrap_or_default();
    tell_protected(core, call, &names, |_| true, &difference).await;
    outcome
}

/// Runs a call's commands on their layer, and tells of protected names in directories that they change directly.
pub(crate) async fn around_direct(
    core: &Core,
    call: &ToolCall,
    work: impl Future<Output = Result<Output, ToolError>>,
) -> Result<Output, ToolError> {
    let workspace = &core.workspace;
    let direct = workspace.confiner.direct_directories(workspace.sandbox.working_root().path());
    if direct.is_empty() {
        return work.await;
    }
    let before = workspace.confiner.protected_names(&workspace.sandbox);
    let outcome = work.await;
    let is_direct = |path: &Path| direct.iter().any(|direct| path.starts_with(&direct.path));
    tell_protected(core, call, &before, is_direct, &IndexDifference::default()).await;
    outcome
}

/// Records what changed, but for what other sessions have on record.
fn tracked(
    core: &Core,
    key: &CallKey,
    beside: Beside,
    difference: &IndexDifference,
) -> Result<(), ToolError> {
    crash_point("track.before");
    let theirs = core.recorder.journal().map(|journal| {
        let since = beside.began.saturating_sub(A_MOMENT);
        journal.store().prepared_by_others(journal.session(), since)
    });
    // Without their records all of it counts as the command's.
    let theirs = theirs.transpose().unwrap_or_default().unwrap_or_default();
    let found = without_theirs(effects_of(difference), theirs);
    let (files, concurrent) = beside.divide(core, found);
    let tracking = Tracking { files, gap: difference.gap.clone(), is_ahead: false, concurrent };
    core.recorder.records(vec![Record::Tracked { call: key.to_owned(), tracking }])?;
    crash_point("track.after");
    Ok(())
}

/// Tells of protected names that a command made or, where the back end cannot hold them, changed:
/// the person hears of it before something runs them.
async fn tell_protected(
    core: &Core,
    call: &ToolCall,
    before: &ProtectedNames,
    is_meant: impl Fn(&Path) -> bool,
    difference: &IndexDifference,
) {
    let sandbox = &core.workspace.sandbox;
    let below = |path: &PathBuf| -> Option<PathBuf> {
        let mut relative = sandbox.roots().filter_map(|root| path.strip_prefix(root.path()).ok());
        relative.next().map(Path::to_owned)
    };
    let now = core.workspace.confiner.protected_names(sandbox);
    let made = now.difference(before).filter(|(path, _)| is_meant(path));
    let made = made.filter_map(|(path, _)| below(path));
    let changed = difference.files.iter().filter_map(|moved| below(&moved.path));
    let changed = changed.filter(|path| protected_part(path).is_some());
    let told: BTreeSet<String> = made.chain(changed).map(|path| notice(&path)).collect();
    for text in told {
        let event = ToolEvent::Noticed { tool_call_id: call.id.clone(), text };
        // A face that does not listen is not an error.
        core.events.send(event).await.unwrap_or_default();
    }
}

/// The notice about a protected name, relative to its root.
fn notice(path: &Path) -> String {
    let shown = path.display().to_string();
    if let Some((name, number)) = shown.rsplit_once(git_control::ASIDE)
        && number.parse::<usize>().is_ok()
    {
        return format!(
            "the command created {name}, which git would read as configuration; renamed to {shown}"
        );
    }
    let (part, why) = match protected_part(path) {
        Some((part, why)) if !part.ends_with(".git") => (part, why),
        Some((_, why)) => (path.to_owned(), why),
        None => (path.to_owned(), "git reads or runs it"),
    };
    let part = part.display();
    format!("the command changed {part}; check it: {why}")
}

/// Looks at the workspace. What there was no time to read before a command is read before the next one.
async fn look(core: &Arc<Core>, reads: ReadScope) -> Result<Index, ToolError> {
    let core = Arc::clone(core);
    let looked = off_thread(move || {
        let mut known = core.index.lock().unwrap_or_else(PoisonError::into_inner);
        let sandbox = &core.workspace.sandbox;
        if known.is_empty() {
            *known = remembered(sandbox, &core.recorder);
        }
        let budget = LookBudget { reads, ..LookBudget::default() };
        look_within(sandbox, &core.recorder, &mut known, budget)
    });
    looked.await.unwrap_or_else(|_| {
        Err(ToolError::failed("tracking", "the workspace could not be scanned"))
    })
}

/// Every file that is new to us is kept, so that it can be put back.
fn look_within(
    sandbox: &Sandbox,
    recorder: &CallRecorder,
    known: &mut Index,
    budget: LookBudget,
) -> Result<Index, ToolError> {
    let mut keeper = ContentKeeper::new(recorder, sandbox.working_root().path());
    let mut keep = |path: &Path, file: &IndexedFile, bytes| keeper.keep(path, file, bytes);
    let index = Index::look(sandbox, known, budget, &mut keep);
    keeper.finish(known.outdated_by(&index))?;
    known.learn(&index);
    Ok(index)
}

/// The index of an earlier process; a file of it that cannot be read is looked at again.
fn remembered(sandbox: &Sandbox, recorder: &CallRecorder) -> Index {
    let root = sandbox.working_root().path();
    let mut memory = IndexMemory::new(root);
    let mut add = |StoredFile { folder, name, stat, sha256 }: StoredFile<'_>| {
        let names = str::from_utf8(folder).ok().zip(str::from_utf8(name).ok());
        if let Some(((folder, name), stat)) = names.zip(FileStat::from_bytes(stat)) {
            memory.add(folder, name, &IndexedFile { stat, sha256, known: Known::Settled });
        }
    };
    let read = recorder.journal().map(|journal| journal.store().each_file(root, &mut add));
    // Without it everything is looked at again.
    read.transpose().unwrap_or_default();
    memory.finish()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jm_files::SandboxSettings;
    use jm_store::{Journal, Owner};
    use jm_system::clock::now_epoch_ms;

    use super::*;

    struct Ground {
        _scratch: tempfile::TempDir,
        sandbox: Sandbox,
        recorder: CallRecorder,
        known: Index,
    }

    const MOST: LookBudget = LookBudget {
        time: Duration::MAX,
        bytes: u64::MAX,
        names: usize::MAX,
        reads: ReadScope::Unknown,
    };

    impl Ground {
        /// A workspace with so many files of a hundred bytes each, written a while ago.
        fn new(count: usize) -> Self {
            let scratch = tempfile::tempdir().unwrap();
            let root = scratch.path().join("w");
            std::fs::create_dir(&root).unwrap();
            for number in 0..count {
                std::fs::write(root.join(format!("f{number:05}")), format!("{number:0100}"))
                    .unwrap();
            }
            // A file that was written in this very moment is not remembered.
            std::thread::sleep(Duration::from_millis(40));
            let sandbox = Sandbox::new(&SandboxSettings::rooted_at(&root)).unwrap();
            let owner = Owner { pid: 1, started: 1, boot: String::new() };
            let path = scratch.path().join("journal.db");
            let journal =
                Journal::open(&path, &"s".into(), &root, &owner, &|_| false, now_epoch_ms).unwrap();
            let recorder = CallRecorder::new(journal, owner, "nobody", None);
            Self { _scratch: scratch, sandbox, recorder, known: Index::default() }
        }

        fn look(&mut self, budget: LookBudget) -> Index {
            look_within(&self.sandbox, &self.recorder, &mut self.known, budget).unwrap()
        }

        /// Rows of the index, and contents: what is kept by now.
        fn kept(&self) -> (usize, u64) {
            let store = self.recorder.journal().unwrap().store();
            let mut rows = 0;
            store.each_file(self.sandbox.working_root().path(), |_| rows += 1).unwrap();
            (rows, store.blob_stats().unwrap().count)
        }
    }

    /// Contents are kept during the look, so that this counts against the look's time.
    #[test]
    fn contents_do_not_wait_for_the_end_of_a_look() {
        let ground = Ground::new(1_200);
        let mut keeper = ContentKeeper::new(&ground.recorder, ground.sandbox.working_root().path());
        let mut most_left = 0;
        let mut count = 0;
        Index::look(&ground.sandbox, &Index::default(), MOST, &mut |path, file, bytes| {
            keeper.keep(path, file, bytes);
            count += 1;
            if count % 100 == 0 {
                most_left = most_left.max(count - ground.kept().0);
            }
        });
        assert_eq!(count, 1_200);
        assert!(most_left <= 512, "{most_left} files waited");
        keeper.finish(Vec::new()).unwrap();
        assert_eq!(ground.kept(), (1_200, 1_200));
    }

    /// Each look keeps what it read, says what it left out, and the next one goes on from there.
    #[test]
    fn a_look_that_was_cut_short_is_gone_on_with() {
        let mut ground = Ground::new(10);
        for (look, kept) in [(1, 3), (2, 6), (3, 9), (4, 10)] {
            let index = ground.look(LookBudget { bytes: 350, ..MOST });
            assert_eq!(index.file_count(), kept, "look {look}");
            assert_eq!(ground.kept(), (kept, kept as u64), "look {look}");
            let gap = index.difference(&ground.look(LookBudget { bytes: 0, ..MOST })).gap;
            assert_eq!(gap, None, "look {look}: nothing moved");
        }
    }

    /// No time at all: nothing is read, nothing is guessed, and that is said.
    #[test]
    fn without_time_nothing_is_tracked() {
        let mut ground = Ground::new(10);
        let index = ground.look(LookBudget { time: Duration::ZERO, ..MOST });
        assert!(index.file_count() == 0 && index.cut.is_some());
        assert_eq!(ground.kept(), (0, 0));
        let whole = ground.look(MOST);
        let difference = index.difference(&whole);
        assert!(difference.files.is_empty() && difference.gap.is_some(), "{difference:?}");
    }
}
