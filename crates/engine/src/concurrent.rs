//! Concurrent changes: what other sessions did while a command ran.
//!
//! Law: what the journal knows to be another session's is not the command's, and what their commands may have
//! done is nobody's. Otherwise taking the command back would take back their work too.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use jm_store::{Concurrent, FileEffect, FileState, Running, StoreError, TrackedElsewhere};
use jm_system::identity::ProcessIdentity;
use jm_tools::ToolEffect;
use jm_types::CallKey;

use crate::core::Core;
use crate::own_call::is_own_name;

/// A change is on record a moment before it happens.
pub(crate) const A_MOMENT: u64 = 2_000;

/// Takes their changes, in the order of time, away from those of the command. Where both changed a
/// file and the command was the last, it stays the command's.
pub(crate) fn without_theirs(found: Vec<FileEffect>, theirs: Vec<FileEffect>) -> Vec<FileEffect> {
    let mut paths: BTreeMap<PathBuf, (FileState, FileState)> = BTreeMap::new();
    for FileEffect { path, before, after, .. } in theirs {
        paths.entry(path).or_insert((before, after)).1 = after;
    }
    let left = |effect: FileEffect| match paths.get(&effect.path) {
        Some((before, after)) if *after == effect.after => {
            let effect = FileEffect { after: *before, ..effect };
            (effect.before != effect.after).then_some(effect)
        }
        Some(_) | None => Some(effect),
    };
    found.into_iter().filter_map(left).collect()
}

/// The commands of other sessions that run beside one of ours.
#[derive(Debug)]
pub(crate) struct Beside {
    /// When ours began, before the first look at the workspace.
    pub(crate) began: u64,
    at_first: Result<BTreeSet<CallKey>, StoreError>,
}

/// Commands of other sessions that may have changed something between our two looks.
#[derive(Debug, Default)]
struct Suspects {
    /// Those that may have changed anything.
    any: BTreeSet<CallKey>,
    /// Those that ended, by the paths that had changed meanwhile: nothing else is theirs.
    paths: BTreeMap<PathBuf, BTreeSet<CallKey>>,
}

impl Beside {
    /// Begins with those that run now.
    pub(crate) fn watch(core: &Core, began: u64) -> Self {
        Self { began, at_first: running(core, is_alive) }
    }

    /// All that ran at some time between the two looks. A process that died meanwhile may have run its
    /// command until then. An error where the journal cannot say.
    fn suspects(self, core: &Core) -> Result<Suspects, StoreError> {
        let mut suspects = Suspects { any: self.at_first?, ..Suspects::default() };
        let Some(journal) = core.recorder.journal() else { return Ok(suspects) };
        let root = core.workspace.sandbox.working_root().path();
        let ended = journal.store().tracked_by_others(journal.session(), root, self.began)?;
        for TrackedElsewhere { call, paths } in ended {
            match paths {
                None => drop(suspects.any.insert(call)),
                Some(paths) => {
                    suspects.any.remove(&call);
                    for path in paths {
                        suspects.paths.entry(path).or_default().insert(call.clone());
                    }
                }
            }
        }
        // Last, because a command may have been run again since.
        suspects.any.extend(running(core, |call| call.started >= self.began || is_alive(call))?);
        Ok(suspects)
    }

    /// Divides what was found into what is the command's, and what cannot be told apart.
    pub(crate) fn divide(
        self,
        core: &Core,
        found: Vec<FileEffect>,
    ) -> (Vec<FileEffect>, Vec<Concurrent>) {
        match self.suspects(core) {
            Ok(suspects) => suspects.divide(found),
            Err(_) if found.is_empty() => (found, Vec::new()),
            // Without their names it is known all the same that nothing is known.
            Err(_) => (Vec::new(), vec![Concurrent { calls: Vec::new(), files: found }]),
        }
    }
}

impl Suspects {
    fn divide(self, found: Vec<FileEffect>) -> (Vec<FileEffect>, Vec<Concurrent>) {
        let mut own = Vec::new();
        let mut shared: BTreeMap<BTreeSet<CallKey>, Vec<FileEffect>> = BTreeMap::new();
        for effect in found {
            let mut calls = self.any.clone();
            calls.extend(self.paths.get(&effect.path).into_iter().flatten().cloned());
            if calls.is_empty() {
                own.push(effect)
            } else {
                shared.entry(calls).or_default().push(effect)
            }
        }
        let concurrent = shared
            .into_iter()
            .map(|(calls, files)| Concurrent { calls: calls.into_iter().collect(), files });
        (own, concurrent.collect())
    }
}

fn is_alive(call: &Running) -> bool {
    let owner = &call.owner;
    ProcessIdentity { pid: owner.pid, started: owner.started, boot: owner.boot.clone() }.is_alive()
}

/// The commands among the calls that run elsewhere. A change of files is on record before it happens, so it
/// needs no guessing; a tool that is not known here may be anything.
fn running(
    core: &Core,
    counts: impl Fn(&Running) -> bool,
) -> Result<BTreeSet<CallKey>, StoreError> {
    let Some(journal) = core.recorder.journal() else { return Ok(BTreeSet::new()) };
    let root = core.workspace.sandbox.working_root().path();
    let is_command = |call: &Running| {
        let tool = core.registry.lookup(&call.call.name);
        let runs = tool.map_or(true, |tool| tool.spec().effect == ToolEffect::Runs);
        runs && !is_own_name(&call.call.name)
    };
    let running = journal.store().running_elsewhere(journal.session(), root)?;
    let commands = running.into_iter().filter(|call| counts(call) && is_command(call));
    Ok(commands.map(|call| call.call.call).collect())
}

#[cfg(test)]
mod tests {
    use jm_types::Digest;

    use super::*;

    fn state(text: &str) -> FileState {
        match text {
            "" => FileState::Missing,
            "/" => FileState::Directory { mode: 0o755 },
            text => FileState::File {
                sha256: Digest::of(text.as_bytes()),
                mode: 0o644,
                size: Some(text.len() as u64),
            },
        }
    }

    /// Before and after.
    type Step = (&'static str, &'static str);

    fn effect((before, after): Step) -> FileEffect {
        let (before, after) = (state(before), state(after));
        FileEffect { path: PathBuf::from("/w/f"), before, after, temporary: None }
    }

    #[test]
    fn theirs_is_taken_away() {
        let cases: &[(Step, &[Step], Option<Step>)] = &[
            // Nobody else was there.
            (("a", "b"), &[], Some(("a", "b"))),
            // All of it is theirs, in one step or in several; also what came and what went.
            (("a", "b"), &[("a", "b")], None),
            (("a", "c"), &[("a", "b"), ("b", "c")], None),
            (("", "b"), &[("", "b")], None),
            (("a", ""), &[("a", "")], None),
            (("", "/"), &[("", "/")], None),
            // The command was first, then they.
            (("a", "c"), &[("b", "c")], Some(("a", "b"))),
            // They were first, then the command.
            (("a", "c"), &[("a", "b")], Some(("a", "c"))),
            // Theirs was before the command's first look.
            (("b", "c"), &[("a", "b")], Some(("b", "c"))),
        ];
        for (found, theirs, expected) in cases {
            let theirs = theirs.iter().copied().map(effect).collect();
            let left = without_theirs(vec![effect(*found)], theirs);
            let expected: Vec<FileEffect> = expected.iter().copied().map(effect).collect();
            assert_eq!(left, expected, "{found:?}");
        }
    }
    #[test]
    fn what_another_command_may_have_changed_is_nobodys() {
        let found = |path: &str| FileEffect { path: PathBuf::from(path), ..effect(("", "a")) };
        let suspects = |any: &[&str], paths: &[(&str, &str)]| {
            let mut suspects = Suspects::default();
            suspects.any.extend(any.iter().map(|call| CallKey::from(*call)));
            for (path, call) in paths {
                suspects.paths.entry(path.into()).or_default().insert((*call).to_owned().into());
            }
            suspects
        };
        let shared = |calls: &[&str], path: &str| Concurrent {
            calls: calls.iter().map(|call| CallKey::from(*call)).collect(),
            files: vec![found(path)],
        };
        let both = || vec![found("/w/f"), found("/w/g")];
        assert_eq!(suspects(&[], &[]).divide(both()), (both(), vec![]));
        // One that ended is known by what had changed; one that runs may have done anything.
        let ended = suspects(&[], &[("/w/g", "x-1")]).divide(both());
        assert_eq!(ended, (vec![found("/w/f")], vec![shared(&["x-1"], "/w/g")]));
        let running = suspects(&["y-1"], &[("/w/g", "x-1")]).divide(both());
        let expected = vec![shared(&["x-1", "y-1"], "/w/g"), shared(&["y-1"], "/w/f")];
        assert_eq!(running, (vec![], expected));
    }
}
