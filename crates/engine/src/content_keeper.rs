//! Keeping what a look at the workspace found, while it is still looking.
//!
//! Law: contents go to the journal in small pieces, each with the rows of the index that name them. So
//! memory is bounded, the time that it takes counts as time of the look, and what was kept before a
//! look was cut short need not be read again.

use std::path::{Path, PathBuf};

use jm_files::index::{IndexedFile, Known};
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
    failed: Option<ToolError>,
}

/// The stored form of a file. Only what is sure is remembered: a file that changed in the moment it was
/// read is not.
fn row(path: &Path, file: &IndexedFile) -> Option<FileRow> {
    let row = || FileRow { path: path.to_owned(), stat: file.stat.to_bytes(), sha256: file.sha256 };
    (file.known == Known::Settled).then(row)
}

impl<'a> ContentKeeper<'a> {
    pub(crate) fn new(recorder: &'a CallRecorder, root: &'a Path) -> Self {
        let (waiting, rows) = (Vec::new(), Vec::new());
        Self { recorder, root, waiting, rows, size: 0, failed: None }
    }

    /// Keeps a file with its content, or without one where that is kept already.
    pub(crate) fn keep(&mut self, path: &Path, file: &IndexedFile, bytes: Option<Vec<u8>>) {
        if self.recorder.journal().is_none() || self.failed.is_some() {
            return;
        }
        self.size += bytes.as_ref().map_or(0, Vec::len);
        self.waiting.extend(bytes);
        self.rows.extend(row(path, file));
        if self.size >= BYTES || self.waiting.len().max(self.rows.len()) >= FILES {
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

    /// The last contents, and the files that are gone.
    pub(crate) fn finish(mut self, gone: Vec<PathBuf>) -> Result<(), ToolError> {
        let is_anything = !(self.waiting.is_empty() && self.rows.is_empty() && gone.is_empty());
        if self.failed.is_none() && is_anything {
            self.write(gone);
        }
        self.failed.map_or(Ok(()), Err)
    }
}
