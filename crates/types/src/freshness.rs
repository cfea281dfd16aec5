//! Reads of a conversation, so that an edit never lands on a file nobody looked at.
//!
//! Law: only the bytes count (FR-TOOL-PATCH-02b). A touched file is fresh, a changed one is stale,
//! whatever its times say.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::digest::Digest;

/// The reason for a file that the conversation has not read.
pub const NOT_READ: &str = "File was not read before patching";
/// The reason for a file that is not as it was read.
pub const CHANGED: &str = "File content changed since last read";
/// The reason for a whole file of which only a part was read.
pub const PARTLY: &str = "Only a part of the file was read";

/// One read: which bytes the file had, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadRecord {
    /// The hash of the whole file.
    pub sha256: Digest,
    /// Milliseconds since the epoch.
    pub read_at_epoch_ms: u64,
    /// The part that the model has seen.
    pub extent: Extent,
}

/// How much of the file the model saw. A part never licenses replacing the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Extent {
    /// From the first line to the last.
    Whole,
    /// Some lines.
    Part,
}

/// The reads of one conversation, by canonical path.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Freshness {
    reads: BTreeMap<PathBuf, ReadRecord>,
}

impl Freshness {
    /// Notes that the conversation knows the file as it is now.
    pub fn record(&mut self, path: PathBuf, record: ReadRecord) {
        self.reads.insert(path, record);
    }

    /// The last read of a file.
    pub fn get(&self, path: &Path) -> Option<&ReadRecord> {
        self.reads.get(path)
    }

    /// The files that were read or written.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.reads.keys().map(PathBuf::as_path)
    }

    /// Why a change computed from bytes with this digest must be refused.
    pub fn staleness(&self, path: &Path, now: &Digest) -> Option<&'static str> {
        match self.reads.get(path) {
            None => Some(NOT_READ),
            Some(record) if record.sha256 != *now => Some(CHANGED),
            Some(_) => None,
        }
    }

    /// The same for a change that replaces the whole file: a part of it does not license that.
    pub fn staleness_of_whole(&self, path: &Path, now: &Digest) -> Option<&'static str> {
        let partly = self.reads.get(path).is_some_and(|record| record.extent == Extent::Part);
        self.staleness(path, now).or(partly.then_some(PARTLY))
    }
}
