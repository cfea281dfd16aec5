//! A command's layer: the upper directory of an overlay, read, compared with the workspace beneath it, and
//! kept or taken back by exchanging names (`renameat2` with `RENAME_EXCHANGE` and `RENAME_NOREPLACE`).
//!
//! Law: nothing is read that the command did not touch, links are never followed, and the old version of
//! what is replaced is moved aside, never removed. What the workspace holds at each name is told by inode,
//! so after a crash every step is known to be done or not done.

mod attributes_origin;
mod directory_attributes;
mod directory_guard;
mod keep;
mod marks;
mod node;
mod node_difference;
mod path_bytes;
mod place;
mod plan;
mod relocate;
mod remove;
mod report;
mod runs_later;
mod sanitize_node;
mod selection;
mod since;
mod split;
mod step;
mod stored;
#[cfg(test)]
mod tests;
mod versions;

pub use keep::{KeepError, KeepLog, NoKeepLog, StepState};
pub use node::{ExtendedAttributes, NodeFacts, NodeKind, NodeTime};
pub use relocate::{EntryName, exchange_names, move_directory};
pub use remove::{remove_layer, renew_work};
pub use report::{LayerReport, NodeChange, TouchedKinds};
pub use runs_later::NameJudge;
pub use selection::{Selection, SelectionError};
pub use since::{ChangedNode, IsOwnChange};
pub use stored::stored_bytes;
pub use versions::FileVersions;

pub use plan::{LayerBounds, LayerConflict, LayerPlan, NeverKept, RefusedNode, TouchedNode};
pub use step::{ExtendedChange, LayerStep, LayerWork};

use std::path::Path;
use std::time::Duration;

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{self, Mode, OFlags};
use rustix::io;

use crate::file::OpenDirectory;

/// The directories of one layer, by descriptor.
#[derive(Debug)]
pub struct Layer {
    pub(crate) lower: OwnedFd,
    pub(crate) upper: OwnedFd,
    /// Old versions of what was deleted go here.
    pub(crate) attic: OwnedFd,
    /// Made on the workspace's file system before the layer was mounted: what changed beneath since then
    /// has a later change time.
    pub(crate) marker: NodeTime,
}

/// Names inside a layer's own directory.
pub const UPPER: &str = "upper";
/// The directory that overlayfs works in, beside the upper one.
pub const WORK: &str = "work";
const ATTIC: &str = "attic";
const MARKER: &str = "marker";

impl Layer {
    /// Makes the directories of a new layer in the empty directory `home`, its upper directory dressed like
    /// the workspace's root, because its attributes are what the root shows.
    pub fn create(workspace: &Path, home: &Path) -> io::Result<Self> {
        Self::with_marker(workspace, home, b"")
    }

    /// Makes the directories of a layer for a part of this one: its marker holds the time of this one's.
    pub fn create_part(&self, workspace: &Path, home: &Path) -> io::Result<Self> {
        let NodeTime { seconds, nanoseconds } = self.marker;
        Self::with_marker(workspace, home, format!("{seconds} {nanoseconds}").as_bytes())
    }

    fn with_marker(workspace: &Path, home: &Path, marker: &[u8]) -> io::Result<Self> {
        let lower = open_directory(workspace)?;
        let home = open_directory(home)?;
        for name in [UPPER, WORK, ATTIC] {
            fs::mkdirat(&home, name, Mode::RWXU)?;
        }
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        let file = fs::openat(&home, MARKER, flags, Mode::RUSR | Mode::WUSR)?;
        match marker {
            [] => stamp(&file)?,
            written if io::write(&file, written)? == written.len() => {}
            _ => return Err(io::Errno::IO),
        }
        let layer = Self::from_parts(lower, &home)?;
        node::dress_like(&layer.upper, &layer.lower)?;
        Ok(layer)
    }

    /// Makes a layer in which nothing was changed like a new one: another marker, the root dressed anew. `false` where
    /// it is none, or its workspace is not what lies there now.
    pub fn begin_again(&mut self, workspace: &Path, home: &Path) -> io::Result<bool> {
        let (now, before) = (fs::stat(workspace)?, fs::fstat(&self.lower)?);
        let is_same = (now.st_dev, now.st_ino) == (before.st_dev, before.st_ino);
        if !is_same || !OpenDirectory::names_in(&self.upper)?.is_empty() {
            return Ok(false);
        }
        marks::strip(self.upper.as_fd())?;
        stamp(&open_marker(&open_directory(home)?)?)?;
        self.marker = marker_in(&open_directory(home)?)?;
        node::dress_like(&self.upper, &self.lower)?;
        Ok(true)
    }

    /// Opens a layer that was made before.
    pub fn open(workspace: &Path, home: &Path) -> io::Result<Self> {
        Self::from_parts(open_directory(workspace)?, &open_directory(home)?)
    }

    fn from_parts(lower: OwnedFd, home: &OwnedFd) -> io::Result<Self> {
        Ok(Self {
            lower,
            upper: open_directory_at(home, UPPER)?,
            attic: open_directory_at(home, ATTIC)?,
            marker: marker_in(home)?,
        })
    }

    /// Says if both sides lie on one file system, so that names can be exchanged.
    pub fn is_on_one_file_system(&self) -> io::Result<bool> {
        Ok(fs::fstat(&self.lower)?.st_dev == fs::fstat(&self.upper)?.st_dev)
    }
}

/// Gives a marker a change time that is later than that of everything changed before it. Where the kernel counts in
/// ticks, that is the next tick; a file system that counts in seconds is not waited for.
fn stamp(marker: &OwnedFd) -> io::Result<()> {
    const PAUSE: Duration = Duration::from_micros(200);
    const MOST_PAUSES: usize = 100;
    let now = fs::Timespec { tv_sec: 0, tv_nsec: fs::UTIME_NOW };
    let touch = || {
        fs::futimens(marker, &fs::Timestamps { last_access: now, last_modification: now })?;
        // A time that was looked at is not given again.
        Ok(NodeTime::changed(&fs::fstat(marker)?))
    };
    let before = touch()?;
    for _ in 0..MOST_PAUSES {
        if touch()? > before {
            break;
        }
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

fn open_marker(home: &OwnedFd) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    fs::openat(home, MARKER, flags, Mode::empty())
}

/// The time of a layer's marker: the one that is written in it, or its own.
fn marker_in(home: &OwnedFd) -> io::Result<NodeTime> {
    let file = open_marker(home)?;
    let mut written = [0; 64];
    let length = io::read(&file, &mut written[..])?;
    let written = String::from_utf8_lossy(&written[..length]);
    match written.split_once(' ') {
        None => Ok(NodeTime::changed(&fs::fstat(&file)?)),
        Some((seconds, nanoseconds)) => match (seconds.parse(), nanoseconds.parse()) {
            (Ok(seconds), Ok(nanoseconds)) => Ok(NodeTime { seconds, nanoseconds }),
            _ => Err(io::Errno::INVAL),
        },
    }
}

fn open_directory(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    fs::open(path, flags, Mode::empty())
}

/// Opens a directory by its name in another, without following a link.
pub(crate) fn open_directory_at(
    parent: impl AsFd,
    name: impl rustix::path::Arg,
) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    fs::openat(parent, name, flags, Mode::empty())
}
