//! Keeping what a look at the workspace found, while it is still looking.
//!
//! Law: contents go to the journal in small pieces, each with the rows of the index that name them. So
//! memory is bounded, the time that it takes counts as time of the look, and what was kept before a
//! look was cut short need not be read again.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use jm_files::index::IndexedFile;
use jm_store::{Entry as Append, FileRow, IndexUpdate};
use jm_types::ToolError;

use crate::record::CallRecorder;

/// A piece is full with so many bytes, or so many files.
const BYTES: usize = 8 * 1024 * 1024;
const FILES: usize = 512;

/// Collects contents and hands them on.
pub(crate) struct ContentKeeper<'a> {
    recorder: &'a CallRecorder,
    root: &'a Path,
    waiting: Vec<Vec<u8>>,
    rows: Vec<FileRow>,
    size: usize,
    /// Files whose rows are written, or about to be.
    pub(crate) written: BTreeSet<PathBuf>,
    failed: Option<ToolError>,
}

/// The row of a file. Only what is sure is remembered: a file that changed in the moment it was read
/// is not.
pub(crate) fn row(path: &Path, file: &IndexedFile) -> Option<FileRow> {
    let stat = file.is_settled.then(|| serde_json::to_string(&file.stat).ok()).flatten()?;
    Some(FileRow { path: path.to_owned(), stat, sha256: file.sha256 })
}

impl<'a> ContentKeeper<'a> {
    pub(crate) fn new(recorder: &'a CallRecorder, root: &'a Path) -> Self {
        let (waiting, rows, written) = (Vec::new(), Vec::new(), BTreeSet::new());
        Self { recorder, root, waiting, rows, size: 0, written, failed: None }
    }

    pub(crate) fn keep(&mut self, path: &Path, file: &IndexedFile, bytes: Vec<u8>) {
        if self.recorder.journal().is_none() || self.failed.is_some() {
            return;
        }
        self.size += bytes.len();
        self.waiting.push(bytes);
        self.rows.extend(row(path, file));
        self.written.insert(path.to_owned());
        if self.size >= BYTES || self.waiting.len() >= FILES {
            self.write(Vec::new());
        }
    }

    fn write(&mut self, gone: Vec<PathBuf>) {
        let blobs = self.waiting.iter().map(Vec::as_slice).collect();
        let seen = std::mem::take(&mut self.rows);
        let index = Some(IndexUpdate { root: self.root.to_owned(), seen, gone });
        self.failed = self.recorder.append(&Append { blobs, index, ..Append::default() }).err();
        self.waiting.clear();
        self.size = 0;
    }

    /// The last contents, and what else the look says of the index.
    pub(crate) fn finish(
        mut self,
        rows: Vec<FileRow>,
        gone: Vec<PathBuf>,
    ) -> Result<(), ToolError> {
        self.rows.extend(rows);
        let is_anything = !(self.waiting.is_empty() && self.rows.is_empty() && gone.is_empty());
        if self.failed.is_none() && is_anything {
            self.write(gone);
        }
        self.failed.map_or(Ok(()), Err)
    }
}
