//! The program that a command runs.

use std::ffi::OsString;
use std::path::PathBuf;

/// A command line, for a shell or as words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandProgram {
    /// Interpreted by the platform's shell.
    Shell(String),
    /// A program and its arguments; no shell reads them.
    Argv(Vec<OsString>),
}

impl CommandProgram {
    /// The path of its file; `None` when it is not named by an absolute one.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        match self {
            Self::Shell(_) => None,
            Self::Argv(words) => words.first().map(PathBuf::from).filter(|path| path.is_absolute()),
        }
    }

    /// The words that are executed.
    pub fn words(&self) -> Vec<OsString> {
        match self {
            Self::Shell(text) => vec!["/bin/sh".into(), "-c".into(), text.into()],
            Self::Argv(words) => words.clone(),
        }
    }
}
