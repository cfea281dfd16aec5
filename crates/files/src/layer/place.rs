//! A name in an open directory, and the two ways in which a node changes it: `renameat2` with `RENAME_NOREPLACE` and
//! with `RENAME_EXCHANGE`.

use std::ffi::OsString;
use std::path::Path;

use rustix::fd::OwnedFd;
use rustix::fs::{self, AtFlags, Mode, RenameFlags};
use rustix::io::{self, Errno};

use super::directory_guard::OpenedDirectory;
use super::node::{NodeFacts, NodeKind};
use super::open_directory_at;

/// A name in an open directory.
pub(super) struct Place {
    pub(super) parent: OpenedDirectory,
    pub(super) name: OsString,
}

impl Place {
    /// The name of a path, in its parent beneath a root.
    pub(super) fn beneath(root: &OwnedFd, path: &Path) -> io::Result<Self> {
        let name = path.file_name().ok_or(Errno::INVAL)?.to_owned();
        Ok(Self { parent: parent_of(root, path)?, name })
    }

    /// The node that has the name now.
    pub(super) fn node(&self) -> io::Result<Option<NodeFacts>> {
        NodeFacts::at(&self.parent, &self.name)
    }

    /// Gives the node another name, which must be free.
    pub(super) fn move_to(&self, other: &Place) -> io::Result<()> {
        self.rename(other, RenameFlags::NOREPLACE)
    }

    /// Exchanges the nodes of two names.
    pub(super) fn exchange_with(&self, other: &Place) -> io::Result<()> {
        self.rename(other, RenameFlags::EXCHANGE)
    }

    /// A directory moves to another parent only if it can be written itself, and so must the parents be:
    /// they get their modes last.
    fn rename(&self, other: &Place, flags: RenameFlags) -> io::Result<()> {
        let rename =
            || fs::renameat_with(&self.parent, &self.name, &other.parent, &other.name, flags);
        match rename() {
            Err(Errno::ACCESS) => {
                let parents = [open_parent(&self.parent)?, open_parent(&other.parent)?];
                let opened = [self.open_up()?, other.open_up()?];
                let outcome = rename();
                for (node, mode) in opened.into_iter().chain(parents).flatten() {
                    fs::fchmod(node, mode)?;
                }
                outcome
            }
            answer => answer,
        }
    }

    /// Makes a directory writable for its owner; gives the mode it had.
    fn open_up(&self) -> io::Result<Option<(OwnedFd, Mode)>> {
        let Some(facts) = self.node()? else { return Ok(None) };
        if facts.kind != NodeKind::Directory {
            return Ok(None);
        }
        let wide = Mode::from_raw_mode(facts.mode | 0o700);
        fs::chmodat(&self.parent, &self.name, wide, AtFlags::empty())?;
        let directory = open_directory_at(&self.parent, &self.name)?;
        Ok(Some((directory, Mode::from_raw_mode(facts.mode))))
    }

    /// The node that was moved here must be the expected one, as it was `seen` right before; or `back` undoes the move.
    pub(super) fn must_be(
        &self,
        expected: Option<&NodeFacts>,
        seen: Option<&NodeFacts>,
        back: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<()> {
        let found = self.node()?;
        let inode = |facts: Option<&NodeFacts>| facts.map(|facts| facts.inode);
        // The move itself changes the change time.
        let content = |facts: Option<&NodeFacts>| facts.map(|facts| (facts.size, facts.modified));
        let found = found.as_ref();
        if inode(found) == inode(expected) && content(found) == content(seen) {
            return Ok(());
        }
        back()?;
        Err(Errno::STALE)
    }
}

/// Makes a directory that changes writable for its owner; gives the mode it had.
fn open_parent(directory: &OwnedFd) -> io::Result<Option<(OwnedFd, Mode)>> {
    let mode = fs::fstat(directory)?.st_mode & 0o7777;
    if mode & 0o300 == 0o300 {
        return Ok(None);
    }
    fs::fchmod(directory, Mode::from_raw_mode(mode | 0o300))?;
    Ok(Some((directory.try_clone().map_err(as_errno)?, Mode::from_raw_mode(mode))))
}

/// The directory that holds a path, opened beneath a root without following links.
pub(super) fn parent_of(root: &OwnedFd, path: &Path) -> io::Result<OpenedDirectory> {
    OpenedDirectory::beneath(root, path.parent().unwrap_or(Path::new("")))
}

pub(super) fn as_errno(error: std::io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}
