//! The report of an undo or a redo: the calls, and what became of their files.

use std::path::PathBuf;

use jm_types::CallKey;

use super::prompts::PromptMark;

/// A call that was to be taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenBack {
    /// The key of the call.
    pub call: CallKey,
    /// One line for people.
    pub summary: String,
    /// The prompt that it was made for.
    pub prompt: Option<PromptMark>,
}

/// The outcome of an undo.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UndoReport {
    /// Newest first.
    pub calls: Vec<TakenBack>,
    /// The calls that are in force again, where undos were taken back.
    pub redone: Vec<TakenBack>,
    /// Nothing of them is left to be tried again.
    pub is_complete: bool,
    /// Files that are as before.
    pub restored: Vec<PathBuf>,
    /// Files that the change had made.
    pub removed: Vec<PathBuf>,
    /// Left alone, and why.
    pub skipped: Vec<(PathBuf, String)>,
    /// Reasons why changes were never tracked.
    pub gaps: Vec<String>,
    /// Commands are among the calls, and what they did elsewhere stays: see [`super::NOT_COVERED`].
    pub has_commands: bool,
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
