//! Commands on layers, as a tool sees it: it hands its command over and gets it back when it has ended and its
//! changes were decided about.

use std::ffi::OsString;

use jm_process::command::FinishedCommand;
use jm_process::confine::ConfinementRules;
use jm_types::{ErrorKind, ToolError};

/// The start of a command by rules that may have become those of a layer.
pub type CommandStart<'a> =
    Box<dyn FnOnce(ConfinementRules) -> Result<FinishedCommand, ToolError> + 'a>;

/// A command that has ended, and why its changes were not kept, if they were not.
#[derive(Debug)]
pub struct HeldRun {
    /// The command's end and output.
    pub finished: FinishedCommand,
    /// The reason why its changes are not in the workspace; `None` where they are.
    pub not_kept: Option<NotKept>,
}

/// The reason why nothing that a command changed is in the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotKept {
    /// One sentence.
    pub why: String,
    /// The next step for the person.
    pub hint: String,
    /// The held layer in which it waits for a decision; `None` where it was decided about, or cannot be.
    pub layer: Option<String>,
}

impl NotKept {
    /// The failure of a command that ended in this way itself.
    pub fn failure(self, how: impl Into<String>, output: String) -> ToolError {
        let failed = ToolError::new(ErrorKind::NotKept { how: how.into(), why: self.why });
        failed.with_output(output).hint(self.hint)
    }
}

/// Runs commands on layers of their own, and decides about these when the commands have ended.
pub trait CommandHolder: Send + Sync + std::fmt::Debug {
    /// Runs a command to its end; `words` are how it is told.
    fn hold(
        &self,
        words: &[OsString],
        rules: ConfinementRules,
        start: CommandStart<'_>,
    ) -> Result<HeldRun, ToolError>;

    /// Tells whether commands have ended and their changes are being decided about, which is not cut short.
    fn is_settling(&self) -> bool;
}
