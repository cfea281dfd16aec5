//! The entries below a directory, gathered from the workspace's walker.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use jm_files::walk::{WalkEntry, WalkFilter, WalkStep, shown_path, walk};
use jm_files::{EntryKind, SafePath};
use jm_types::ToolError;

use crate::context::Scope;

/// An entry of a tree, with what a listing tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundFile {
    /// Relative to the directory that was asked for.
    pub path: String,
    /// The kind, by its own entry.
    pub kind: EntryKind,
    /// Bytes of a regular file.
    pub size: Option<u64>,
    /// Milliseconds since the epoch.
    pub modified_epoch_ms: Option<i64>,
}

/// The files of a tree that were asked for.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FindOutcome {
    /// By path.
    pub files: Vec<FoundFile>,
    /// There are more than were asked for.
    pub is_cut: bool,
    /// Time ran out before everything was looked at.
    pub is_partial: bool,
}

/// The decision on one entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    Take(WalkStep),
    Leave(WalkStep),
}

/// A walk below `start`, whose entries are named below `name`.
pub(super) struct Gathering<'a> {
    pub(super) start: &'a SafePath,
    pub(super) name: &'a str,
    pub(super) passing: WalkFilter,
    /// The walk ends with so many entries.
    pub(super) most: usize,
}

impl Gathering<'_> {
    /// The entries that are chosen, in no order, each with its path from the start.
    pub(super) fn run(
        &self,
        scope: &Scope,
        choose: &(dyn Fn(&WalkEntry<'_>) -> Choice + Sync),
    ) -> Result<Vec<(PathBuf, FoundFile)>, ToolError> {
        let found: Mutex<Vec<(PathBuf, FoundFile)>> = Mutex::default();
        let visit = |met: &WalkEntry<'_>| {
            let next = match choose(met) {
                Choice::Take(next) => next,
                Choice::Leave(next) => return next,
            };
            let entry = met.entry();
            let file = FoundFile {
                path: shown_path(self.name, &met.path),
                kind: met.kind,
                size: entry.size,
                modified_epoch_ms: entry.modified_epoch_ms,
            };
            let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
            found.push((met.path.clone(), file));
            if found.len() >= self.most { WalkStep::Stop } else { next }
        };
        walk(&scope.workspace.sandbox, self.start, self.passing, &scope.cancel, &visit)?;
        Ok(found.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}
