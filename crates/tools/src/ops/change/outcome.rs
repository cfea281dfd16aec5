//! The outcome of a change: its files, and what became of each edit.

use std::path::PathBuf;

use jm_types::ToolError;

/// The effect on one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Did {
    /// There was no file.
    Created,
    /// There was a file, with another content.
    Modified,
    /// The edits led back to what was there.
    Nothing,
}

/// One file of a change that was made, or that a dry run computed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    /// As answers name it.
    pub path: String,
    /// The effect.
    pub did: Did,
    /// The size of the file afterwards.
    pub bytes: usize,
    /// The number of bytes of content that the call gave: of an append, what was appended.
    pub given: usize,
    /// The number of replacements of a text.
    pub replaced: usize,
    /// Warnings and losses, in words for the reader.
    pub notes: Vec<String>,
    /// It was added to git's index.
    pub is_staged: bool,
    /// The edits of this file, in the order of the call.
    pub edits: Vec<EditDone>,
    /// The copy of the old content, where one was kept.
    pub backup: Option<PathBuf>,
    /// The diff, where nothing was written.
    pub preview: Option<String>,
}

/// The result of one edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditDone {
    /// Its number among the edits of the change.
    pub index: usize,
    /// The file, as answers name it.
    pub path: String,
    /// The lines it was about, where it named some.
    pub lines: Option<(usize, usize)>,
    /// It left the file other than it found it.
    pub is_changing: bool,
    /// The reason why it was not applied.
    pub failure: Option<EditFailure>,
}

/// The reason for which an edit was not applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditFailure {
    /// The edit itself failed.
    Own(ToolError),
    /// Another edit of its file failed.
    Another,
}

impl EditFailure {
    /// In one sentence.
    pub fn message(&self) -> String {
        match self {
            EditFailure::Own(error) => error.to_string(),
            EditFailure::Another => {
                "not applied, because another edit of this file failed".to_owned()
            }
        }
    }
}
