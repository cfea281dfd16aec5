//! The change of one file that a commit makes.

use std::sync::Arc;

use jm_types::ToolError;

use crate::sandbox::{SafePath, io_error};

/// One file's change.
#[derive(Debug, Clone)]
pub struct FileChange {
    /// The resolved target.
    pub path: SafePath,
    /// The bytes the change was computed from; nothing where there was no file.
    pub before: Option<Arc<Vec<u8>>>,
    /// The state that it gets.
    pub after: After,
}

/// The state that a file shall have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum After {
    /// A regular file with this content.
    Content {
        /// The whole content.
        bytes: Vec<u8>,
        /// Permission bits; otherwise those of the old file, or what the umask leaves.
        mode: Option<u32>,
    },
    /// No file.
    Absent,
}

impl After {
    /// A file with this content and the permissions of the old one.
    pub fn content(bytes: Vec<u8>) -> Self {
        After::Content { bytes, mode: None }
    }

    /// The length of the new content; `None` when the file goes.
    pub(super) fn length(&self) -> Option<u64> {
        match self {
            After::Content { bytes, .. } => Some(bytes.len() as u64),
            After::Absent => None,
        }
    }
}

/// The error of a change that a system call refused.
pub(super) fn failed(change: &FileChange, error: rustix::io::Errno) -> ToolError {
    io_error(change.path.asked(), error)
}
