//! Effects: the changes of a call to files, as the journal has them.
//!
//! Law: a change is on record, with the contents before it, ahead of the first rename.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use jm_files::index::{IndexDifference, IndexedFile};
use jm_files::{CommitLog, Manifest, ManifestEntry, ManifestTrade, Node};
use jm_store::{Entry as Append, FileEffect, FileState, Record, WriteOrder};
use jm_system::fault::crash_point;
use jm_types::{CallKey, Digest, ToolError};
use tracing::Span;

use crate::core::Core;
use crate::record::reason;

/// The commit log of one call: its manifest and before-images, durable before the first rename.
pub(crate) struct EffectLog {
    pub(crate) recorder: Arc<Core>,
    pub(crate) call: CallKey,
    /// Further records that belong to the same moment, and further effects.
    pub(crate) also: Vec<Record>,
    pub(crate) files: Vec<FileEffect>,
    /// From the record of the manifest to the last exchange.
    span: Option<Span>,
}

impl EffectLog {
    pub(crate) fn new(recorder: &Arc<Core>, call: &CallKey) -> Self {
        let (recorder, call) = (Arc::clone(recorder), call.to_owned());
        Self { recorder, call, also: Vec::new(), files: Vec::new(), span: None }
    }

    /// Records the rest where no file changes.
    pub(crate) fn note(self) -> Result<(), ToolError> {
        let (mut records, call, files) = (self.also, self.call, self.files);
        if !files.is_empty() {
            records.push(Record::Prepared { call, files });
        }
        self.recorder.recorder.records(records)
    }
}

impl CommitLog for EffectLog {
    fn prepared(&mut self, manifest: &Manifest) -> Result<(), String> {
        self.span = Some(tracing::info_span!("commit", key = %self.call));
        crash_point("effect.before_prepared");
        let mut files = std::mem::take(&mut self.files);
        files.extend(manifest.directories.iter().map(made_directory));
        files.extend(manifest.entries.iter().map(effect));
        files.extend(manifest.trades.iter().flat_map(trade_effects));
        let mut records = std::mem::take(&mut self.also);
        records.push(Record::Prepared { call: self.call.clone(), files });
        let blobs = manifest.entries.iter().filter_map(|e| Some(e.before.as_ref()?.as_slice()));
        let traded = manifest.trades.iter().flat_map(|trade| trade.before.walk(&trade.path));
        let traded: Vec<&Node> = traded.map(|(_, node)| node).collect();
        let traded = traded.into_iter().filter_map(|node| match node {
            Node::File { bytes, .. } => Some(bytes.as_slice()),
            Node::Directory { .. } => None,
        });
        let blobs = blobs.chain(traded).collect();
        // The directories are locked: whoever wants to change files there waits for this write.
        let entry = Append { records, blobs, order: WriteOrder::AtOnce, ..Append::default() };
        self.recorder.recorder.append(&entry).map_err(|error| reason(&error))?;
        crash_point("effect.after_prepared");
        Ok(())
    }

    fn committed(&mut self) -> Result<(), String> {
        self.span = None;
        crash_point("effect.committed");
        Ok(())
    }

    /// Goes with the result: until then the files themselves say it.
    fn withdrawn(&mut self) {
        self.span = None;
        let call = self.call.clone();
        self.recorder.recorder.say_withdrawn(call);
    }
}

/// The path itself, and all that goes or comes with the directory.
fn trade_effects(trade: &ManifestTrade) -> Vec<FileEffect> {
    let state = |node: &Node| match node {
        Node::File { bytes, mode } => FileState::File {
            sha256: Digest::of(bytes),
            mode: *mode,
            size: Some(bytes.len() as u64),
        },
        Node::Directory { mode, .. } => FileState::Directory { mode: *mode },
    };
    let mut effects: BTreeMap<PathBuf, FileEffect> = BTreeMap::new();
    let mut at = |path: PathBuf, set: &dyn Fn(&mut FileEffect)| {
        let missing = FileState::Missing;
        let none =
            FileEffect { path: path.clone(), before: missing, after: missing, temporary: None };
        set(effects.entry(path).or_insert(none));
    };
    trade.before.walk(&trade.path).into_iter().for_each(|(path, node)| {
        at(path, &|effect| effect.before = state(node));
    });
    trade.after.walk(&trade.path).into_iter().for_each(|(path, node)| {
        at(path, &|effect| effect.after = state(node));
    });
    at(trade.path.clone(), &|effect| effect.temporary = Some(trade.temporary.clone()));
    effects.into_values().collect()
}

fn made_directory((path, mode): &(PathBuf, u32)) -> FileEffect {
    let (before, after) = (FileState::Missing, FileState::Directory { mode: *mode });
    FileEffect { path: path.clone(), before, after, temporary: None }
}

fn effect(entry: &ManifestEntry) -> FileEffect {
    let before = match &entry.before {
        Some(bytes) => FileState::File {
            sha256: Digest::of(bytes),
            mode: entry.mode.unwrap_or(0o644),
            size: Some(bytes.len() as u64),
        },
        None => FileState::Missing,
    };
    let after = match entry.after {
        Some((sha256, mode)) => FileState::File { sha256, mode, size: entry.after_bytes },
        None => FileState::Missing,
    };
    FileEffect { path: entry.path.clone(), before, after, temporary: Some(entry.temporary.clone()) }
}

/// The difference between two looks, as effects.
pub(crate) fn effects_of(difference: &IndexDifference) -> Vec<FileEffect> {
    let state = |file: &Option<IndexedFile>| match file {
        Some(file) => FileState::File {
            sha256: file.sha256,
            mode: file.stat.mode,
            size: Some(file.stat.size),
        },
        None => FileState::Missing,
    };
    let directory = |mode: &Option<u32>| match mode {
        Some(mode) => FileState::Directory { mode: *mode },
        None => FileState::Missing,
    };
    let directories = difference.directories.iter().map(|(path, before, after)| FileEffect {
        path: path.clone(),
        before: directory(before),
        after: directory(after),
        temporary: None,
    });
    let files = difference.files.iter().map(|moved| FileEffect {
        path: moved.path.clone(),
        before: state(&moved.before),
        after: state(&moved.after),
        temporary: None,
    });
    directories.chain(files).collect()
}
