//! Any number of files change together, or none does (FR-TOOL-PATCH-01a).
//!
//! Law: until the last step every file is whole, either as it was or as it shall be, and whatever
//! fails, the files that already changed are changed back. A file that another writer changed since
//! it was read is never overwritten.

mod attributes;
mod change;
mod descriptors;
mod new_directories;
mod stage;
mod swap;
mod trade;

use std::path::PathBuf;
use std::sync::Arc;

use jm_system::fault;
use jm_types::{Cancel, Digest, ErrorKind, ToolError, ignore_error};
use rustix::fs;

use crate::sandbox::Sandbox;
use change::failed;
pub use change::{After, FileChange};
use descriptors::Descriptors;
use new_directories::MadeDirectories;
use stage::{StagedFile, StagingPlace};
use trade::WaitingTrade;
pub(crate) use trade::remove_all;
pub use trade::{Node, Trade};

/// The changes that are about to happen, complete before the first name changes.
#[derive(Debug, Clone)]
pub struct Manifest {
    /// One a file, in the order of the changes.
    pub entries: Vec<ManifestEntry>,
    /// Directories that were made for it, outermost first, with their permission bits.
    pub directories: Vec<(PathBuf, u32)>,
    /// Paths at which a file and a directory are to trade places.
    pub trades: Vec<ManifestTrade>,
}

/// A path at which a file and a directory trade places.
#[derive(Debug, Clone)]
pub struct ManifestTrade {
    /// Absolute.
    pub path: PathBuf,
    /// The side that goes.
    pub before: Node,
    /// The side that comes.
    pub after: Node,
    /// As in an entry.
    pub temporary: PathBuf,
}

/// The change of one file, as it is recorded.
#[derive(Debug, Clone)]
pub struct ManifestEntry {
    /// Absolute.
    pub path: PathBuf,
    /// The old content, where there was a file.
    pub before: Option<Arc<Vec<u8>>>,
    /// The new content's digest and permission bits; nothing when the file goes.
    pub after: Option<(Digest, u32)>,
    /// The new content's length.
    pub after_bytes: Option<u64>,
    /// The name in the same directory that holds the new content until the exchange, and the old
    /// content after it.
    pub temporary: PathBuf,
    /// Permission bits before, where the file existed.
    pub mode: Option<u32>,
}

impl ManifestEntry {
    /// The hash of the old content; `None` for a new file.
    pub fn digest_before(&self) -> Option<Digest> {
        self.before.as_ref().map(|bytes| Digest::of(bytes))
    }
}

/// Keeps a durable record, so that a power cut can be told from a finished change.
pub trait CommitLog {
    /// All new contents are on disk; no name has changed yet. An error stops the commit.
    fn prepared(&mut self, manifest: &Manifest) -> Result<(), String>;
    /// All names have changed and the directories are on disk.
    fn committed(&mut self) -> Result<(), String>;
    /// It failed after it was prepared, and every file is as it was.
    fn withdrawn(&mut self);
}

/// For callers that keep no record.
#[derive(Debug, Default)]
pub struct NoLog;

impl CommitLog for NoLog {
    fn prepared(&mut self, _: &Manifest) -> Result<(), String> {
        Ok(())
    }

    fn committed(&mut self) -> Result<(), String> {
        Ok(())
    }

    fn withdrawn(&mut self) {}
}

/// A file that changed, and what could not be kept of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Committed {
    /// Absolute.
    pub path: PathBuf,
    /// Nothing when the file went.
    pub after: Option<Digest>,
    /// Attributes that could not be kept, in words for the reader.
    pub notes: Vec<String>,
}

/// Makes the changes real.
pub fn commit(
    sandbox: &Sandbox,
    changes: &[FileChange],
    cancel: &Cancel,
    log: &mut dyn CommitLog,
) -> Result<Vec<Committed>, ToolError> {
    commit_with_trades(sandbox, changes, &[], cancel, log)
}

/// The same, and in the same step files and directories trade places.
pub fn commit_with_trades(
    sandbox: &Sandbox,
    changes: &[FileChange],
    trades: &[Trade],
    cancel: &Cancel,
    log: &mut dyn CommitLog,
) -> Result<Vec<Committed>, ToolError> {
    let paths = changes.iter().map(|change| &change.path);
    for path in paths.chain(trades.iter().map(|trade| &trade.path)) {
        sandbox.refuse_own(path)?;
    }
    let _descriptors = Descriptors::as_many_as_allowed();
    let mut work = CommitWork::default();
    let outcome = work.run(changes, trades, cancel, log);
    match outcome {
        Ok(()) => Ok(work.finish(changes, trades)),
        Err(error) => Err(work.undo(error, log)),
    }
}

/// A commit under way: what must be undone if it fails.
#[derive(Default)]
struct CommitWork {
    places: Vec<StagingPlace>,
    staged: Vec<StagedFile>,
    is_prepared: bool,
    swapped: usize,
    waiting: Vec<WaitingTrade>,
    traded: usize,
    made: MadeDirectories,
}

impl CommitWork {
    fn run(
        &mut self,
        changes: &[FileChange],
        trades: &[Trade],
        cancel: &Cancel,
        log: &mut dyn CommitLog,
    ) -> Result<(), ToolError> {
        self.stage(changes, trades, cancel)?;
        let _committing = cancel.begin_commit()?;
        swap::lock_all(&self.places)?;
        log.prepared(&self.manifest(changes, trades)).map_err(|why| unrecorded(&why))?;
        self.is_prepared = true;
        for (index, change) in changes.iter().enumerate() {
            let staged = &self.staged[index];
            let place = &self.places[staged.place];
            fault::fail_point("commit.rename", index + 1).map_err(|error| failed(change, error))?;
            let made = self.made.make_way(&self.places, staged);
            made.map_err(|error| failed(change, error))?;
            let target = self.made.target(&self.places, staged);
            let waits = swap::swap_in(place, target, staged, change, index + 1)?;
            self.swapped += 1;
            swap::compare(place, staged, change, waits, index + 1)?;
        }
        for (index, (waiting, trade)) in self.waiting.iter().zip(trades).enumerate() {
            let place = &self.places[waiting.place];
            waiting.swap_in(place, trade, index + 1)?;
            self.traded += 1;
            waiting.compare(place, trade, index + 1)?;
        }
        self.made.sync().map_err(|error| failed(&changes[0], error))?;
        for (index, place) in self.places.iter().enumerate() {
            place.sync(index + 1)?;
        }
        log.committed().map_err(|why| unrecorded(&why))
    }

    fn stage(
        &mut self,
        changes: &[FileChange],
        trades: &[Trade],
        cancel: &Cancel,
    ) -> Result<(), ToolError> {
        for (index, change) in changes.iter().enumerate() {
            cancel.checkpoint()?;
            let place = stage::place(&mut self.places, &change.path, index + 1)?;
            let staged = stage::stage(&self.places[place.0], place, change, index + 1)?;
            self.staged.push(staged);
            self.staged[index].fill(change, index + 1)?;
        }
        for (index, trade) in trades.iter().enumerate() {
            cancel.checkpoint()?;
            let (place, _) = stage::place(&mut self.places, &trade.path, index + 1)?;
            self.waiting.push(WaitingTrade::stage((&self.places[place], place), trade, index + 1)?);
        }
        Ok(())
    }

    fn manifest(&self, changes: &[FileChange], trades: &[Trade]) -> Manifest {
        let entry = |(change, staged): (&FileChange, &StagedFile)| ManifestEntry {
            path: change.path.absolute(),
            before: change.before.clone(),
            after: staged.after.map(|digest| (digest, staged.mode_after)),
            after_bytes: change.after.length(),
            temporary: self.places[staged.place].path.join(&staged.temporary),
            mode: staged.mode,
        };
        let mode = stage::new_directory_mode();
        let planned = new_directories::planned(&self.places, &self.staged).into_iter();
        let directories = planned.map(|path| (path, mode)).collect();
        let trade = |(trade, waiting): (&Trade, &WaitingTrade)| ManifestTrade {
            path: trade.path.absolute(),
            before: trade.before.clone(),
            after: trade.after.clone(),
            temporary: self.places[waiting.place].path.join(&waiting.temporary),
        };
        Manifest {
            entries: changes.iter().zip(&self.staged).map(entry).collect(),
            directories,
            trades: trades.iter().zip(&self.waiting).map(trade).collect(),
        }
    }

    fn finish(self, changes: &[FileChange], trades: &[Trade]) -> Vec<Committed> {
        let mut done = Vec::new();
        for (staged, change) in self.staged.iter().zip(changes) {
            let mut notes = staged.notes.clone();
            if let Err(error) = swap::discard(&self.places[staged.place], staged) {
                notes.push(format!("the old content remains as {}: {error}", staged.temporary));
            }
            done.push(Committed { path: change.path.absolute(), after: staged.after, notes });
        }
        for (waiting, trade) in self.waiting.iter().zip(trades) {
            let mut notes = Vec::new();
            if let Err(error) = waiting.discard(&self.places[waiting.place]) {
                notes.push(format!("what stood there remains as {}: {error}", waiting.temporary));
            }
            let (path, after) = (trade.path.absolute(), trade::digest(&trade.after));
            done.push(Committed { path, after, notes });
        }
        done
    }

    /// Every file is as it was, and nothing of ours remains. What cannot be undone is said.
    fn undo(self, error: ToolError, log: &mut dyn CommitLog) -> ToolError {
        let (mut error, mut is_undone) = (error, true);
        for (index, waiting) in self.waiting.iter().enumerate().rev() {
            let place = &self.places[waiting.place];
            let is_swapped = index < self.traded;
            if is_swapped && let Err(failed) = waiting.swap_back(place, index + 1) {
                is_undone = false;
                let left = swap::set_aside(place, &waiting.temporary);
                error = error.hint(format!("not all could be put back ({failed}); see {left}"));
                continue;
            }
            ignore_error(
                waiting.discard(place),
                "our own new side; what cannot be removed now is found by its name later",
            );
        }
        for (index, staged) in self.staged.iter().enumerate().rev() {
            let place = &self.places[staged.place];
            let target = self.made.target(&self.places, staged);
            if index < self.swapped
                && let Err(failed) = swap::swap_back(place, target, staged, index + 1)
            {
                is_undone = false;
                let name = staged.name.to_string_lossy();
                error = error.hint(if staged.is_new {
                    format!("{name} could not be put back ({failed}): it is still there")
                } else {
                    let left = swap::set_aside(place, &staged.temporary);
                    format!("{name} could not be put back ({failed}); its old content is in {left}")
                });
                continue;
            }
            staged.remove_temporary(place);
        }
        self.made.remove(&self.places);
        if self.is_prepared && is_undone {
            for place in &self.places {
                let why = "a disk that refuses even this may forget the way back, and is not to be trusted";
                ignore_error(fs::fsync(&place.directory), why);
            }
            log.withdrawn();
        }
        error
    }
}

fn unrecorded(why: &str) -> ToolError {
    ToolError::new(ErrorKind::Unrecorded { message: why.to_owned() })
        .hint("nothing was changed; check the state directory and its disk, then try again")
}
