//! The ways in which a command ends.

use serde::{Deserialize, Serialize};

/// The end of a command for its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Exited(i32),
    Signalled(i32),
    TimedOut,
    Cancelled,
}

/// The end of a command as its launcher saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    Exited(i32),
    Signalled(i32),
    TimedOut,
    /// The program asked for it.
    Stopped,
    /// The program was gone.
    Orphaned,
}

impl Ended {
    pub(crate) fn ending(self) -> Ending {
        match self {
            Self::Exited(code) => Ending::Exited(code),
            Self::Signalled(signal) => Ending::Signalled(signal),
            Self::TimedOut => Ending::TimedOut,
            Self::Stopped | Self::Orphaned => Ending::Cancelled,
        }
    }
}
