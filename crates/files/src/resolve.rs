//! From a path as asked to the path it really names, with no link left in it.
//!
//! Law: every step is taken on a directory descriptor, and `..` goes back to a descriptor we hold,
//! so no answer depends on what a name meant a moment ago.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{self, AtFlags, FileType};
use rustix::io::Errno;

use crate::open::open_directory;
use crate::path::{Part, link_parts};

const MOST_LINKS: usize = 40;

/// The kind of file that a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A FIFO, a socket or a device.
    Special(&'static str),
    /// Nothing: the first `existing` components are there, the rest are not.
    Missing {
        /// Leading components that are there.
        existing: usize,
    },
}

#[derive(Debug)]
pub(crate) struct Resolved {
    pub(crate) relative: PathBuf,
    pub(crate) found: Found,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Dead {
    Outside,
    /// By the `..` of a relative link; where that leads, from the root.
    LinkOutside(PathBuf),
    /// Through an absolute link; where that leads.
    AbsoluteLink(PathBuf),
    Loop,
    NotADirectory(PathBuf),
    /// `..` behind something that does not exist.
    UpFromNothing(PathBuf),
    Io(Errno),
}

impl From<Errno> for Dead {
    fn from(error: Errno) -> Self {
        Dead::Io(error)
    }
}

struct Walk<'a> {
    root: BorrowedFd<'a>,
    stack: Vec<(OsString, OwnedFd)>,
    rest: VecDeque<Part>,
    /// The number of next parts that were written in a link.
    of_link: usize,
    links: usize,
    reach: Reach,
}

/// The reach of a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// There is an outside, which nothing leads to.
    Beneath,
    /// The root is the root of the file system: `..` stays there, and absolute links begin there.
    Everything,
}

pub(crate) fn resolve(
    root: BorrowedFd<'_>,
    parts: VecDeque<Part>,
    reach: Reach,
) -> Result<Resolved, Dead> {
    let mut walk = Walk { root, stack: Vec::new(), rest: parts, of_link: 0, links: 0, reach };
    while let Some(part) = walk.rest.pop_front() {
        let is_of_link = walk.of_link > 0;
        walk.of_link -= usize::from(is_of_link);
        match part {
            Part::Up => match (walk.stack.pop(), reach) {
                (Some(_), _) | (None, Reach::Everything) => {}
                (None, Reach::Beneath) if is_of_link => {
                    return Err(Dead::LinkOutside(Path::new("..").join(walk.remaining())));
                }
                (None, Reach::Beneath) => return Err(Dead::Outside),
            },
            Part::Name(name) => {
                if let Some(end) = walk.step(name)? {
                    return Ok(end);
                }
            }
        }
    }
    Ok(Resolved { relative: walk.here(), found: Found::Directory })
}

impl Walk<'_> {
    fn directory(&self) -> BorrowedFd<'_> {
        self.stack.last().map_or(self.root, |(_, fd)| fd.as_fd())
    }

    /// The parts that are left, as a path.
    fn remaining(&self) -> PathBuf {
        let name = |part: &Part| match part {
            Part::Name(name) => name.clone(),
            Part::Up => "..".into(),
        };
        self.rest.iter().map(name).collect()
    }

    fn here(&self) -> PathBuf {
        self.stack.iter().map(|(name, _)| name).collect()
    }

    /// One name further; `Some` when the walk has ended at something that is not a directory.
    fn step(&mut self, name: OsString) -> Result<Option<Resolved>, Dead> {
        let directory = self.directory();
        let stat = match fs::statat(directory, &*name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return self.missing(name).map(Some),
            Err(error) => return Err(error.into()),
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => self.follow(&name),
            FileType::Directory => {
                let opened = open_directory(directory, Path::new(&name))?;
                self.stack.push((name, opened));
                Ok(None)
            }
            other => self.leaf(name, other).map(Some),
        }
    }

    /// Goes on where a link points; `Some` where it points at an open pipe or socket.
    fn follow(&mut self, name: &OsString) -> Result<Option<Resolved>, Dead> {
        self.links += 1;
        if self.links > MOST_LINKS {
            return Err(Dead::Loop);
        }
        let target = fs::readlinkat(self.directory(), &**name, Vec::new())?.into_bytes();
        if self.reach == Reach::Everything
            && (target.starts_with(b"pipe:[") || target.starts_with(b"socket:["))
        {
            let relative = self.here().join(name);
            return Ok(Some(Resolved { relative, found: Found::Special("a FIFO") }));
        }
        let target = OsString::from_vec(target);
        let (parts, absolute) = link_parts(&target);
        match (absolute, self.reach) {
            (true, Reach::Beneath) => {
                return Err(Dead::AbsoluteLink(Path::new(&target).join(self.remaining())));
            }
            (true, Reach::Everything) => self.stack.clear(),
            (false, _) => {}
        }
        self.of_link += parts.len();
        for part in parts.into_iter().rev() {
            self.rest.push_front(part);
        }
        Ok(None)
    }

    fn leaf(&self, name: OsString, kind: FileType) -> Result<Resolved, Dead> {
        let relative = self.here().join(name);
        if !self.rest.is_empty() {
            return Err(Dead::NotADirectory(relative));
        }
        Ok(Resolved { relative, found: Found::from_type(kind) })
    }

    fn missing(&mut self, name: OsString) -> Result<Resolved, Dead> {
        let existing = self.stack.len();
        let mut relative = self.here();
        relative.push(name);
        for part in std::mem::take(&mut self.rest) {
            match part {
                Part::Name(name) => relative.push(name),
                Part::Up => return Err(Dead::UpFromNothing(relative)),
            }
        }
        Ok(Resolved { relative, found: Found::Missing { existing } })
    }
}

impl Found {
    pub(crate) fn from_type(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => Found::File,
            FileType::Directory => Found::Directory,
            FileType::Fifo => Found::Special("a FIFO"),
            FileType::Socket => Found::Special("a socket"),
            FileType::CharacterDevice | FileType::BlockDevice => Found::Special("a device"),
            FileType::Symlink => Found::Special("a symbolic link"),
            _ => Found::Special("a special file"),
        }
    }
}
