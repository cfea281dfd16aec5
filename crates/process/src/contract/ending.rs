//! The ways in which a command ends.

use serde::{Deserialize, Serialize};

/// The end of a command for its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandEnding {
    Exited(i32),
    Signalled(i32),
    TimedOut,
    Cancelled,
}

/// The end of a command as its launcher saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordedEnding {
    Exited(i32),
    Signalled(i32),
    TimedOut,
    /// The program asked for it.
    Stopped,
    /// The program was gone.
    Orphaned,
}

impl RecordedEnding {
    pub(crate) fn ending(self) -> CommandEnding {
        match self {
            Self::Exited(code) => CommandEnding::Exited(code),
            Self::Signalled(signal) => CommandEnding::Signalled(signal),
            Self::TimedOut => CommandEnding::TimedOut,
            Self::Stopped | Self::Orphaned => CommandEnding::Cancelled,
        }
    }
}
