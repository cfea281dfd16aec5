//! One file of a change: what it holds, what it shall hold, and which edits make it so.

use std::path::PathBuf;
use std::sync::Arc;

use jm_files::{After, FileChange, Found, OpenFile, SafePath};
use jm_types::Digest;
use jm_types::ToolError;

use super::edit::FileEdit;
use super::outcome::{ChangedFile, Did, EditDone, EditFailure};
use super::{diff, syntax};
use crate::foresight::Expected;

/// A file larger than this is not edited in memory.
const MOST_EDITED: u64 = 256 * 1024 * 1024;
/// Nor is one of more lines: where each of them lies takes more memory than a short line itself.
const MOST_LINES: usize = 8 * 1024 * 1024;

#[derive(Debug)]
pub(super) struct Target {
    pub(super) path: SafePath,
    /// The numbers of the edits that are about this file.
    pub(super) edits: Vec<usize>,
    pub(super) before: Option<Arc<Vec<u8>>>,
    pub(super) after: Option<Vec<u8>>,
    /// Its mode lets no user write it, its owner included.
    pub(super) is_read_only: bool,
    /// The edit that is being applied; a failure is its.
    pub(super) current: usize,
    /// The numbers of the edits that left the file other than they found it.
    changing: Vec<usize>,
    replaced: usize,
    /// The edit that failed, and why. The file then stays as it was.
    failed: Option<(usize, ToolError)>,
}

impl Target {
    pub(super) fn new(path: SafePath, edit: usize) -> Self {
        Self {
            path,
            edits: vec![edit],
            before: None,
            after: None,
            is_read_only: false,
            current: edit,
            changing: Vec::new(),
            replaced: 0,
            failed: None,
        }
    }

    /// Loads what the file holds, or will hold when earlier calls of the batch have run.
    pub(super) fn load(&mut self, expected: &Expected) -> Result<(), ToolError> {
        if let Some(bytes) = expected.get(&self.path.absolute()) {
            self.after = Some(bytes.as_ref().clone());
            self.before = Some(Arc::clone(bytes));
            return Ok(());
        }
        if let Found::Missing { .. } = self.path.found() {
            if !self.path.names_a_directory() {
                return Ok(());
            }
            let asked = self.path.asked();
            return Err(ToolError::bad_args(format!("{asked} names a directory, not a file")));
        }
        let mut file = OpenFile::open(&self.path)?;
        let is_too_large = file.size > MOST_EDITED;
        let (bytes, more) =
            if is_too_large { (Vec::new(), true) } else { file.read_up_to(MOST_EDITED)? };
        if more {
            return Err(ToolError::limit(format!(
                "{} is larger than {MOST_EDITED} bytes, too large to edit",
                self.path.asked()
            )));
        }
        if memchr::memchr_iter(b'\n', &bytes).count() > MOST_LINES {
            return Err(ToolError::limit(format!(
                "{} has more than {MOST_LINES} lines, too many to edit",
                self.path.asked()
            )));
        }
        self.is_read_only = file.is_read_only;
        self.after = Some(bytes.clone());
        self.before = Some(Arc::new(bytes));
        Ok(())
    }

    /// Applies the edits in order, each on the result of the one before.
    pub(super) fn compute(&mut self, files: &[FileEdit]) -> Result<(), ToolError> {
        for index in self.edits.clone() {
            self.current = index;
            let file = &files[index];
            // A file with one edit has its state before it at hand already.
            let before = (self.edits.len() > 1).then(|| self.after.clone());
            let applied = file.edit.apply(&file.path, self.after.take())?;
            let is_changing = match &before {
                Some(before) => *before != applied.after,
                None => self.before.as_deref() != applied.after.as_ref(),
            };
            if is_changing {
                self.changing.push(index);
            }
            self.after = applied.after;
            self.replaced += applied.replaced;
        }
        Ok(())
    }

    /// The file stays as it was.
    pub(super) fn give_up(&mut self, error: ToolError) {
        self.after = self.before.as_deref().cloned();
        self.changing.clear();
        self.failed = Some((self.current, error));
    }

    pub(super) fn is_given_up(&self) -> bool {
        self.failed.is_some()
    }

    pub(super) fn is_changed(&self) -> bool {
        self.before.as_deref() != self.after.as_ref()
    }

    pub(super) fn change(&self) -> Option<FileChange> {
        let after = After::content(self.after.clone()?);
        Some(FileChange { path: self.path.clone(), before: self.before.clone(), after })
    }

    pub(super) fn diff(&self) -> String {
        diff::unified_diff(
            &self.path.relative().display().to_string(),
            self.before.as_deref().map(Vec::as_slice),
            self.after.as_deref(),
        )
    }

    /// The remark on what the change broke.
    pub(super) fn remark(&self) -> Option<String> {
        let before = self.before.as_deref().map(Vec::as_slice);
        syntax::remark(self.path.relative(), before, self.after.as_deref()?)
    }

    pub(super) fn state(&self) -> (PathBuf, Option<Digest>) {
        (self.path.absolute(), self.before.as_deref().map(|bytes| Digest::of(bytes)))
    }

    pub(super) fn report(&self, files: &[FileEdit], notes: Vec<String>) -> ChangedFile {
        ChangedFile {
            path: self.path.asked().to_owned(),
            did: match (&self.before, self.is_changed()) {
                (None, true) => Did::Created,
                (Some(_), true) => Did::Modified,
                (_, false) => Did::Nothing,
            },
            bytes: self.after.as_ref().map_or(0, Vec::len),
            given: self.edits.iter().map(|index| files[*index].edit.given()).sum(),
            replaced: self.replaced,
            notes,
            is_staged: false,
            edits: self.edits.iter().map(|index| self.done(*index, &files[*index])).collect(),
            backup: None,
            preview: None,
        }
    }

    fn done(&self, index: usize, file: &FileEdit) -> EditDone {
        let failure = self.failed.as_ref().map(|(failed, error)| {
            if *failed == index { EditFailure::Own(error.clone()) } else { EditFailure::Another }
        });
        let is_changing = self.changing.contains(&index);
        let path = self.path.asked().to_owned();
        EditDone { index, path, lines: file.edit.lines(), is_changing, failure }
    }
}
