//! The author of attributes that a directory has on the layer and not beneath it: the command or another program.
//!
//! The overlay keeps no copy of the attributes that it copied up, so it is told by times: what was not touched beneath
//! since the directory was copied up (`st_birthtime` of the copy) was changed by the command. A layer that waits while
//! other layers are kept has the answer written down before (`attributes`, beside the old versions).

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use rustix::fd::OwnedFd;
use rustix::fs::{self, AtFlags, Mode, OFlags, StatxFlags};
use rustix::io::{self, Errno};
use serde::{Deserialize, Serialize};

use super::Layer;
use super::node::{ExtendedAttributes, NodeFacts, NodeTime};
use super::step::ExtendedChange;

const ATTRIBUTES: &str = "attributes";

/// The attributes of a directory from before the command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct AttributeBase {
    #[serde(with = "super::path_bytes")]
    path: PathBuf,
    mode: u32,
    owner: u32,
    group: u32,
    extended: ExtendedAttributes,
}

/// The one who changed the attributes of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AttributeAuthor {
    Command,
    /// Another program, while the command ran.
    Other,
    /// Both of them, or it cannot be told.
    Both,
}

/// A directory whose attributes differ on the layer and beneath it.
#[derive(Debug, Clone, Copy)]
pub(super) struct DifferingDirectory<'a> {
    pub path: &'a Path,
    pub upper: &'a OwnedFd,
    pub before: &'a NodeFacts,
    pub after: &'a NodeFacts,
    /// Extended attributes of both sides.
    pub extended: &'a ExtendedChange,
    /// The layer has names in it.
    pub has_names: bool,
}

impl AttributeBase {
    fn of(path: &Path, facts: &NodeFacts, extended: &ExtendedAttributes) -> Self {
        let NodeFacts { mode, owner, group, .. } = *facts;
        Self { path: path.to_owned(), mode, owner, group, extended: extended.clone() }
    }
}

impl DifferingDirectory<'_> {
    /// Tells the author by what is known from before, or else by times.
    pub(super) fn author(
        &self,
        known: &[AttributeBase],
        marker: NodeTime,
    ) -> io::Result<AttributeAuthor> {
        let Some(base) = known.iter().find(|base| base.path == self.path) else {
            return self.author_by_times(marker);
        };
        Ok(match (self.below() == *base, self.above() == *base) {
            (true, _) => AttributeAuthor::Command,
            (false, true) => AttributeAuthor::Other,
            (false, false) => AttributeAuthor::Both,
        })
    }

    fn author_by_times(&self, marker: NodeTime) -> io::Result<AttributeAuthor> {
        let copied = birth(self.upper)?.unwrap_or(marker).max(marker);
        // A new or removed name sets both times; a change of attributes may have gone before it.
        let is_last = self.before.changed > self.before.modified;
        // A copy without names and with the old time was made for its attributes.
        let is_for_itself = !self.has_names && self.after.modified < marker;
        let author = if self.before.changed < copied {
            AttributeAuthor::Command
        } else if is_last && !is_for_itself {
            AttributeAuthor::Other
        } else {
            AttributeAuthor::Both
        };
        Ok(author)
    }

    fn below(&self) -> AttributeBase {
        AttributeBase::of(self.path, self.before, &self.extended.before)
    }

    fn above(&self) -> AttributeBase {
        AttributeBase::of(self.path, self.after, &self.extended.after)
    }

    /// The attributes from before the command, where its author is known.
    pub(super) fn base(&self, author: AttributeAuthor) -> Option<AttributeBase> {
        match author {
            AttributeAuthor::Command => Some(self.below()),
            AttributeAuthor::Other => Some(self.above()),
            AttributeAuthor::Both => None,
        }
    }
}

impl Layer {
    /// Writes down the attributes from before the command.
    pub(super) fn write_attributes(&self, bases: &[AttributeBase]) -> io::Result<()> {
        let flags =
            OFlags::CREATE | OFlags::TRUNC | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let list = fs::openat(&self.attic, ATTRIBUTES, flags, Mode::RUSR | Mode::WUSR)?;
        let text = serde_json::to_vec(bases).map_err(|_| Errno::INVAL)?;
        File::from(list).write_all(&text).map_err(as_errno)
    }

    pub(super) fn known_attributes(&self) -> io::Result<Vec<AttributeBase>> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let list = match fs::openat(&self.attic, ATTRIBUTES, flags, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(Vec::new()),
            list => list?,
        };
        let mut text = Vec::new();
        File::from(list).read_to_end(&mut text).map_err(as_errno)?;
        // One that was cut off by a crash is none.
        Ok(serde_json::from_slice(&text).unwrap_or_default())
    }
}

/// The moment at which a directory of the upper was made; `None` where the file system does not tell.
fn birth(directory: &OwnedFd) -> io::Result<Option<NodeTime>> {
    let found = fs::statx(directory, "", AtFlags::EMPTY_PATH, StatxFlags::BTIME)?;
    let is_told = StatxFlags::from_bits_retain(found.stx_mask).contains(StatxFlags::BTIME);
    let time = found.stx_btime;
    let time = NodeTime { seconds: time.tv_sec, nanoseconds: i64::from(time.tv_nsec) };
    Ok(is_told.then_some(time))
}

fn as_errno(error: std::io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}
