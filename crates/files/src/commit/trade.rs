//! A file and a directory trade places: the directory goes, or comes, whole, by one exchange of names.
//!
//! Law: after the exchange the temporary name holds what stood there. If that is not all and only
//! what was expected, it goes back.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jm_system::fault;
use jm_types::{Digest, ToolError, ignore_error};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{self, AtFlags, FileType, Mode, OFlags};
use rustix::io::{self, Errno};

use super::stage::{StagingPlace, temporary_name};
use super::swap;
use crate::file::OpenDirectory;
use crate::sandbox::{SafePath, io_error};

/// More than this is not moved about: what is tracked of one call is less.
const MOST: u64 = 512 * 1024 * 1024;

/// A file, or a directory with all that is in it, under a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// A regular file.
    File {
        /// The whole content.
        bytes: Arc<Vec<u8>>,
        /// Permission bits.
        mode: u32,
    },
    /// A directory with everything in it.
    Directory {
        /// Permission bits.
        mode: u32,
        /// The entries by name.
        holds: BTreeMap<OsString, Node>,
    },
}

/// One path where a file stands for a directory from now on, or the other way round.
#[derive(Debug, Clone)]
pub struct Trade {
    /// The resolved path.
    pub path: SafePath,
    /// The tree that must stand there.
    pub before: Node,
    /// The tree that takes its place.
    pub after: Node,
}

impl Node {
    /// Reads what stands there now. What is neither file nor directory cannot be put back, so it is an
    /// error.
    pub fn read(path: &SafePath) -> Result<Self, ToolError> {
        let fail = |error| io_error(path.asked(), error);
        let parent = path.relative().parent().unwrap_or(Path::new(""));
        let name = path.relative().file_name().ok_or_else(|| fail(Errno::ISDIR))?;
        let parent = path.opening().open(
            &**path.root(),
            parent,
            OFlags::RDONLY | OFlags::DIRECTORY,
            Mode::empty(),
        );
        Self::read_at(parent.map_err(fail)?.as_fd(), name, &mut MOST.clone()).map_err(fail)
    }

    /// `room` is how many more bytes are read.
    fn read_at(parent: BorrowedFd<'_>, name: &OsStr, room: &mut u64) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened = fs::openat(parent, name, flags, Mode::empty())?;
        let stat = fs::fstat(&opened)?;
        let mode = stat.st_mode & 0o7777;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {
                let mut bytes = Vec::new();
                File::from(opened).take(*room + 1).read_to_end(&mut bytes).map_err(as_errno)?;
                *room = room.checked_sub(bytes.len() as u64).ok_or(Errno::FBIG)?;
                Ok(Node::File { bytes: Arc::new(bytes), mode })
            }
            FileType::Directory => {
                let mut holds = BTreeMap::new();
                for name in OpenDirectory::names_in(&opened)? {
                    let node = Self::read_at(opened.as_fd(), &name, room)?;
                    holds.insert(name, node);
                }
                Ok(Node::Directory { mode, holds })
            }
            _ => Err(Errno::INVAL),
        }
    }

    /// Itself and all that is in it, by path, outermost first.
    pub fn walk(&self, path: &Path) -> Vec<(PathBuf, &Node)> {
        let mut all = vec![(path.to_owned(), self)];
        if let Node::Directory { holds, .. } = self {
            all.extend(holds.iter().flat_map(|(name, node)| node.walk(&path.join(name))));
        }
        all
    }

    /// Whole, with its permission bits, and on disk.
    fn write_at(&self, parent: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
        match self {
            Node::File { bytes, mode } => {
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
                let file = fs::openat(parent, name, flags, Mode::from_raw_mode(0o600))?;
                let mut file = File::from(file);
                file.write_all(bytes).map_err(as_errno)?;
                fs::fchmod(&file, Mode::from_raw_mode(*mode))?;
                fs::fsync(&file)
            }
            Node::Directory { mode, holds } => {
                fs::mkdirat(parent, name, Mode::from_raw_mode(0o700))?;
                let directory = open_directory(parent, name)?;
                for (name, node) in holds {
                    node.write_at(directory.as_fd(), name)?;
                }
                // Last: it may not be writable any more.
                fs::fchmod(&directory, Mode::from_raw_mode(*mode))?;
                fs::fsync(&directory)
            }
        }
    }
}

fn as_errno(error: std::io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}

fn open_directory(parent: BorrowedFd<'_>, name: &OsStr) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    fs::openat(parent, name, flags, Mode::empty())
}

/// A trade whose new side waits beside its target.
pub(super) struct WaitingTrade {
    pub(super) place: usize,
    pub(super) temporary: String,
    name: OsString,
    inode: u64,
}

impl WaitingTrade {
    /// Writes the new side under a name of its own; what is left of a failure is removed.
    pub(super) fn stage(
        (place, index): (&StagingPlace, usize),
        trade: &Trade,
        nth: usize,
    ) -> Result<Self, ToolError> {
        let fail = |error| io_error(trade.path.asked(), error);
        fault::fail_point("commit.create", nth).map_err(fail)?;
        let name = trade.path.relative().file_name().ok_or_else(|| fail(Errno::ISDIR))?;
        let temporary = temporary_name().map_err(fail)?;
        let written = fault::fail_point("commit.write", nth)
            .and_then(|()| trade.after.write_at(place.fd(), OsStr::new(&temporary)))
            .and_then(|()| swap::inode(place, OsStr::new(&temporary)));
        match written {
            Ok(inode) => Ok(Self { place: index, temporary, name: name.to_owned(), inode }),
            Err(error) => {
                let removed = remove_all(place.fd(), OsStr::new(&temporary));
                ignore_error(removed, "what stays is found as a leftover");
                Err(fail(error))
            }
        }
    }

    /// The moment in which it happens.
    pub(super) fn swap_in(
        &self,
        place: &StagingPlace,
        trade: &Trade,
        nth: usize,
    ) -> Result<(), ToolError> {
        let fail = |error| io_error(trade.path.asked(), error);
        fault::fail_point("commit.trade", nth).map_err(fail)?;
        if !swap::exchange_names(place, &self.temporary, &self.name).map_err(fail)? {
            return Err(ToolError::io(
                trade.path.asked(),
                "this file system cannot exchange a file and a directory",
            ));
        }
        Ok(())
    }

    /// After the swap: what stood there is what was expected.
    pub(super) fn compare(
        &self,
        place: &StagingPlace,
        trade: &Trade,
        nth: usize,
    ) -> Result<(), ToolError> {
        let fail = |error| io_error(trade.path.asked(), error);
        fault::fail_point("commit.compare", nth).map_err(fail)?;
        match Node::read_at(place.fd(), OsStr::new(&self.temporary), &mut MOST.clone()) {
            Ok(found) if found == trade.before => Ok(()),
            Ok(_) | Err(_) => Err(swap::stale(trade.path.asked())),
        }
    }

    pub(super) fn swap_back(&self, place: &StagingPlace, nth: usize) -> io::Result<()> {
        fault::fail_point("commit.back", nth)?;
        // What stands there now must be ours, or it is not ours to replace.
        if swap::inode(place, &self.name)? != self.inode {
            return Err(Errno::STALE);
        }
        swap::exchange_names(place, &self.temporary, &self.name).map(drop)
    }

    /// Removes what is under the temporary name, which is no longer needed.
    pub(super) fn discard(&self, place: &StagingPlace) -> io::Result<()> {
        remove_all(place.fd(), OsStr::new(&self.temporary))
    }
}

/// Removes a file, or a directory with all that is in it. A name that is not there is no error.
pub(crate) fn remove_all(parent: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
    match fs::unlinkat(parent, name, AtFlags::empty()) {
        Err(Errno::ISDIR | Errno::PERM) => {}
        Err(Errno::NOENT) => return Ok(()),
        answer => return answer,
    }
    let directory = open_directory(parent, name)?;
    // One that is not writable cannot be emptied.
    fs::fchmod(&directory, Mode::RWXU)?;
    for inner in OpenDirectory::names_in(&directory)? {
        remove_all(directory.as_fd(), &inner)?;
    }
    fs::unlinkat(parent, name, AtFlags::REMOVEDIR)
}

/// The new content's digest, where a file stands there now.
pub(super) fn digest(node: &Node) -> Option<Digest> {
    match node {
        Node::File { bytes, .. } => Some(Digest::of(bytes)),
        Node::Directory { .. } => None,
    }
}
