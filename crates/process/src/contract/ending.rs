//! The ways in which a process and a command end.
//!
//! Law: each type holds the one below it and adds what only it knows, so that nothing is converted: a process
//! has an [`Exit`], a command may be ended before it has one, and a job may never have begun.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The end of a process that ended by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Exit {
    /// The exit code.
    #[serde(rename = "exited")]
    Code(i32),
    /// The number of the signal that ended it.
    #[serde(rename = "signalled")]
    Signal(i32),
}

impl Exit {
    /// The exit code of a success.
    pub const SUCCESS: Self = Self::Code(0);

    /// The exit of a wait status; -1 where the status says neither.
    pub(crate) fn of(code: Option<i32>, signal: Option<i32>) -> Self {
        match (code, signal) {
            (Some(code), _) => Self::Code(code),
            (None, Some(signal)) => Self::Signal(signal),
            (None, None) => Self::Code(-1),
        }
    }

    /// The exit code as a shell gives it: 128 and the number, for a signal.
    pub fn code(self) -> i32 {
        match self {
            Self::Code(code) => code,
            Self::Signal(signal) => 128 + signal,
        }
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "exit code {} (signal {signal})", self.code()),
        }
    }
}

/// The end of a command, as its supervisor records it and its caller gets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandEnding {
    /// Its time was over.
    TimedOut,
    /// The program asked for it.
    Stopped,
    /// The program was gone.
    Orphaned,
    /// It ended by itself.
    #[serde(untagged)]
    Exited(Exit),
}

impl CommandEnding {
    /// The end of a command that did what it was for.
    pub const SUCCESS: Self = Self::Exited(Exit::SUCCESS);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The form in records that were written before, and by an older program that still runs.
    #[test]
    fn records_keep_their_form() {
        let cases = [
            (CommandEnding::SUCCESS, r#"{"exited":0}"#),
            (CommandEnding::Exited(Exit::Signal(9)), r#"{"signalled":9}"#),
            (CommandEnding::TimedOut, r#""timed_out""#),
            (CommandEnding::Stopped, r#""stopped""#),
            (CommandEnding::Orphaned, r#""orphaned""#),
        ];
        for (ending, text) in cases {
            assert_eq!(serde_json::to_string(&ending).unwrap(), text);
            assert_eq!(serde_json::from_str::<CommandEnding>(text).unwrap(), ending);
        }
    }
}
