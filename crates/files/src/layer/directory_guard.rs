//! Directories whose mode keeps their owner out, opened all the same: the mode is widened (`fchmod`) as long as the
//! value lives.

use std::ffi::OsStr;
use std::ops::Deref;
use std::path::Path;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{self, AtFlags, Mode, OFlags};
use rustix::io::{self, Errno};

use super::node::{NodeFacts, NodeKind};
use super::open_directory_at;
use crate::open::open_beneath;

/// An open directory, which its owner can read and search while the value lives.
pub(super) struct OpenedDirectory {
    directory: OwnedFd,
    /// The mode that it gets at the end, where that is another one than now.
    left: Option<Mode>,
}

impl OpenedDirectory {
    /// Opens a directory by its name; its mode is touched only if it keeps us out.
    pub(super) fn at(parent: impl AsFd, name: &OsStr) -> io::Result<Self> {
        match open_directory_at(&parent, name).and_then(searchable) {
            Err(Errno::ACCESS) => {}
            opened => return opened.map(Self::from),
        }
        let facts = NodeFacts::at(&parent, name)?.ok_or(Errno::NOENT)?;
        if facts.kind != NodeKind::Directory {
            return Err(Errno::NOTDIR);
        }
        let wide = Mode::from_raw_mode(facts.mode | 0o700);
        fs::chmodat(&parent, name, wide, AtFlags::empty())?;
        let left = Mode::from_raw_mode(facts.mode);
        match open_directory_at(&parent, name) {
            Ok(directory) => Ok(Self { directory, left: Some(left) }),
            Err(error) => {
                fs::chmodat(&parent, name, left, AtFlags::empty())?;
                Err(error)
            }
        }
    }

    /// Opens a directory beneath a root without following links, past those on the way that keep us out.
    pub(super) fn beneath(root: &OwnedFd, path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        match open_beneath(root, path, flags, Mode::empty()).and_then(searchable) {
            Err(Errno::ACCESS) => {}
            opened => return opened.map(Self::from),
        }
        let mut way = Self::from(open_directory_at(root, ".")?);
        for name in path.iter() {
            // One that is open needs no right to those around it.
            way = Self::at(&way, name)?;
        }
        Ok(way)
    }

    /// The mode that it has when the value is gone.
    pub(super) fn mode(&self) -> io::Result<u32> {
        let now = fs::fstat(&self.directory)?.st_mode & 0o7777;
        Ok(self.left.map_or(now, Mode::as_raw_mode))
    }

    /// Lets the owner write it too, which extended attributes need.
    pub(super) fn widen(&mut self) -> io::Result<()> {
        let mode = self.mode()?;
        if self.left.is_none() && mode & 0o700 != 0o700 {
            fs::fchmod(&self.directory, Mode::from_raw_mode(mode | 0o700))?;
            self.left = Some(Mode::from_raw_mode(mode));
        }
        Ok(())
    }

    /// Ends the access with another mode than it had.
    pub(super) fn leave_as(mut self, mode: u32) -> io::Result<()> {
        self.left = None;
        fs::fchmod(&self.directory, Mode::from_raw_mode(mode))
    }
}

impl From<OwnedFd> for OpenedDirectory {
    fn from(directory: OwnedFd) -> Self {
        Self { directory, left: None }
    }
}

impl Deref for OpenedDirectory {
    type Target = OwnedFd;

    fn deref(&self) -> &OwnedFd {
        &self.directory
    }
}

impl AsFd for OpenedDirectory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }
}

impl Drop for OpenedDirectory {
    fn drop(&mut self) {
        if let Some(mode) = self.left {
            jm_types::ignore_error(
                fs::fchmod(&self.directory, mode),
                "who could widen the mode can set it back, unless the disk is gone",
            );
        }
    }
}

/// Makes sure that names can be looked up in a directory: one that can be listed may refuse that.
pub(super) fn searchable(directory: OwnedFd) -> io::Result<OwnedFd> {
    fs::statat(&directory, ".", AtFlags::empty())?;
    Ok(directory)
}
