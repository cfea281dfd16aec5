//! Converging: bringing paths to a state that the journal remembers. Undo, redo and recovery all do this.
//!
//! Law: what stands at a path is compared before it is replaced, and all paths change in one step that is
//! whole or nothing.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jm_files::{After, CommitLog, Committed, FileChange, Sandbox, Trade, commit_with_trades};
use jm_store::{FileState, Store, StoreError};
use jm_types::{Cancel, Digest, ToolError};

use crate::files::{Standing, belongs_to_git, current, is_beneath_a_file, resolve};

/// The state that a path must have now, and the one that it shall have.
#[derive(Debug, Clone)]
pub(crate) struct PathGoal {
    pub(crate) path: PathBuf,
    pub(crate) expected: FileState,
    pub(crate) wanted: FileState,
}

/// The rule for files that changed since: left alone, or overwritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// A file goes only if its hash is the expected one.
    Hash,
    /// A file goes whatever it holds.
    Force,
}

/// The reason why a path is left alone.
#[derive(Debug)]
pub(crate) struct Blocked {
    pub(crate) why: String,
    /// It can never be put back, so nothing waits for it.
    pub(crate) for_good: bool,
}

impl Blocked {
    pub(super) fn for_now(why: impl Into<String>) -> Self {
        Self { why: why.into(), for_good: false }
    }

    pub(super) fn unreachable(path: &Path, why: String) -> Self {
        Self { for_good: belongs_to_git(path), why }
    }
}

pub(super) const CHANGED: &str = "changed since; overwrite it with --force";

impl PathGoal {
    pub(crate) fn is_about_a_directory(&self) -> bool {
        self.wanted.is_directory() || self.expected.is_directory()
    }
}

/// The steps that bring paths to their states.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    pub(crate) changes: Vec<FileChange>,
    pub(crate) trades: Vec<Trade>,
}

impl Steps {
    pub(crate) fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.trades.is_empty()
    }
}

/// Does all of the steps, or none.
pub(crate) fn converge(
    sandbox: &Sandbox,
    steps: &Steps,
    log: &mut dyn CommitLog,
) -> Result<Vec<Committed>, ToolError> {
    commit_with_trades(sandbox, &steps.changes, &steps.trades, &Cancel::new(), log)
}

/// The change of one file; `None` if it is what it shall be already, or is no file's.
pub(crate) fn change_of(
    (sandbox, store): (&Sandbox, &Store),
    target: &PathGoal,
    guard: Guard,
) -> Result<Option<FileChange>, Blocked> {
    if target.is_about_a_directory() {
        return Ok(None);
    }
    if target.wanted == FileState::Missing && is_beneath_a_file(sandbox, &target.path) {
        return Ok(None);
    }
    let path =
        resolve(sandbox, &target.path).map_err(|why| Blocked::unreachable(&target.path, why))?;
    let mut standing = Standing::at(&path);
    if standing.is_directory() {
        return Err(Blocked::for_now("is a directory now"));
    }
    let is_wanted = standing.is(target.wanted).map_err(Blocked::for_now)?;
    if is_wanted && standing.mode() == target.wanted.mode() {
        return Ok(None);
    }
    let is_expected = standing.is(target.expected).map_err(Blocked::for_now)?;
    if !is_expected && !is_wanted && guard == Guard::Hash {
        return Err(Blocked::for_now(CHANGED));
    }
    let after = match target.wanted {
        FileState::File { sha256, mode, .. } => {
            After::Content { bytes: content(store, sha256)?, mode: Some(mode) }
        }
        FileState::Missing | FileState::Directory { .. } => After::Absent,
    };
    // Only what is replaced is read as a whole; the exchange compares it once more.
    let before = current(&path).map_err(Blocked::for_now)?.map(Arc::new);
    Ok(Some(FileChange { path, before, after }))
}

/// A kept content.
pub(super) fn content(store: &Store, sha256: Digest) -> Result<Vec<u8>, Blocked> {
    store.blob(sha256).map_err(|error| Blocked {
        // What was let go does not come back, so nothing waits for it.
        for_good: matches!(error, StoreError::Released(_)),
        why: error.to_string(),
    })
}
