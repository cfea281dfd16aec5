//! The contract of an operation: the paths it uses, its preview, its foreseeable effect, its outcome.
//!
//! Law: an operation has one type of outcome. A row of a toolset pairs `lower` and `raise` by that type, so
//! no tool can be handed the outcome of another one.

use jm_files::CommitLog;
use jm_shell::CommandLine;
use jm_types::ToolError;
use jm_types::text::mask_credentials;
use jm_types::text::one_line::{SUMMARY_CHARACTERS, summarize};

use crate::context::Scope;
use crate::events::Events;
use crate::foresight::Foreseen;
use crate::quote::question_entry;
use crate::tool::{PathUse, Preview, ShownCommand};

/// Something that a call can ask the workspace to do.
pub trait Operation: std::fmt::Debug + Send + Sized + 'static {
    /// The result of performing it, which `raise` makes an answer of.
    type Outcome: Send + 'static;

    /// Its preview follows from the call and the files that the preview names, and from nothing else.
    const PREVIEWS_ITS_FILES: bool = false;

    /// It starts a command and waits for it, and everything it changes is that command's doing.
    const IS_COMMAND: bool = false;

    /// Names the paths of the call, for the sandbox and for the person who decides; pure.
    fn paths(&self) -> Vec<PathUse>;

    /// The command that it would run, where the call names one; pure.
    fn command(&self) -> Option<CommandLine> {
        None
    }

    /// The ports that it would publish on this machine; pure.
    fn publishes(&self) -> Vec<u16> {
        Vec::new()
    }

    /// The command as a question names it; of a project's tests the one that its files tell. Reads, never
    /// writes.
    fn shown_command(&self, _: &Scope) -> Option<ShownCommand> {
        None
    }

    /// Computes what a person is shown besides the summary. Reads, never writes.
    fn preview(&self, _: &Scope, _: CallSummary<'_>) -> Result<Option<Preview>, ToolError> {
        Ok(None)
    }

    /// Computes what it would leave behind, and records in `scope.seen` what it would show of files.
    /// Reads, never writes.
    fn foresee(&self, scope: &Scope) -> Foreseen;

    /// Does it, on the calling thread.
    fn perform(self, execution: Execution<'_>) -> Result<Self::Outcome, ToolError>;
}

/// The means of one execution.
pub struct Execution<'a> {
    /// The context of the call.
    pub scope: &'a Scope,
    /// Takes the output of commands as it comes.
    pub events: Events,
    /// Makes changes of files durable knowledge before they happen.
    pub log: &'a mut dyn CommitLog,
}

impl std::fmt::Debug for Execution<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Execution").field("scope", self.scope).finish_non_exhaustive()
    }
}

/// The summary of a call, before it is cut to one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallSummary<'a>(pub &'a str);

impl CallSummary<'_> {
    /// Tells whether the line that a question shows leaves nothing out.
    pub fn is_shown_whole(self) -> bool {
        let shown = summarize(self.0, SUMMARY_CHARACTERS);
        !shown.cut && shown.text == self.0
    }

    /// The summary at its full length, where the line of the question is shorter.
    pub fn in_full(self) -> Option<Preview> {
        let preview = || {
            let masked = mask_credentials(self.0);
            let unmasked = (masked != self.0).then(|| question_entry("in full", self.0));
            Preview { text: question_entry("in full", &masked), unmasked, ..Preview::default() }
        };
        (!self.is_shown_whole()).then(preview)
    }
}
