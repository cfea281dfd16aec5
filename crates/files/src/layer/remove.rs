//! Removing a layer, whatever modes and depths the command gave to what is in it.
//!
//! Law: no link is followed, and no depth is too deep: a directory's directories are moved up before
//! it is emptied, so two descriptors are enough.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{self, AtFlags, Mode, RenameFlags};
use rustix::io::{self, Errno};

use super::node::{NodeFacts, NodeKind};
use super::{WORK, open_directory, open_directory_at};
use crate::file::OpenDirectory;

/// Removes the directory of a layer with everything in it.
pub fn remove_layer(home: &Path) -> io::Result<()> {
    let (Some(parent), Some(name)) = (home.parent(), home.file_name()) else {
        return Err(Errno::INVAL);
    };
    remove_tree(&open_directory(parent)?, name)
}

/// Gives a layer another work directory, so that its upper directory can be mounted once more: the overlay leaves a mark
/// in the old one that its files may not be on the disk, which only matters after a power cut.
pub fn renew_work(home: &Path) -> io::Result<()> {
    let home = open_directory(home)?;
    remove_tree(&home, OsStr::new(WORK))?;
    fs::mkdirat(&home, WORK, Mode::RWXU)
}

/// Removes a node, and of a directory everything in it.
pub(super) fn remove_tree(parent: &OwnedFd, name: &OsStr) -> io::Result<()> {
    let Some(facts) = NodeFacts::at(parent, name)? else { return Ok(()) };
    if facts.kind != NodeKind::Directory {
        return fs::unlinkat(parent, name, AtFlags::empty());
    }
    let top = open_up(parent, name)?;
    let mut moved = 0_u64;
    loop {
        let directories = empty(&top, &mut |_, _| Ok(false))?;
        if directories.is_empty() {
            break;
        }
        for inner in directories {
            let directory = open_up(&top, &inner)?;
            empty(&directory, &mut |from, name| {
                open_up(from, name)?;
                move_up(from, name, &top, &mut moved).map(|()| true)
            })?;
            fs::unlinkat(&top, &inner, AtFlags::REMOVEDIR)?;
        }
    }
    fs::unlinkat(parent, name, AtFlags::REMOVEDIR)
}

/// Unlinks all but directories; those that `take` does not take are returned.
fn empty(
    directory: &OwnedFd,
    take: &mut dyn FnMut(&OwnedFd, &OsStr) -> io::Result<bool>,
) -> io::Result<Vec<OsString>> {
    let mut left = Vec::new();
    for name in OpenDirectory::names_in(directory)? {
        match NodeFacts::at(directory, &name)?.map(|facts| facts.kind) {
            Some(NodeKind::Directory) if !take(directory, &name)? => left.push(name),
            Some(NodeKind::Directory) | None => {}
            Some(_) => fs::unlinkat(directory, &name, AtFlags::empty())?,
        }
    }
    Ok(left)
}

/// Gives a directory a name of its own at the top.
fn move_up(from: &OwnedFd, name: &OsStr, top: &OwnedFd, moved: &mut u64) -> io::Result<()> {
    loop {
        *moved += 1;
        let fresh = format!("removed-{moved}");
        match fs::renameat_with(from, name, top, &fresh, RenameFlags::NOREPLACE) {
            Err(Errno::EXIST) => {}
            answer => return answer,
        }
    }
}

/// Opens a directory, also one whose mode refuses that.
fn open_up(parent: impl AsFd, name: &OsStr) -> io::Result<OwnedFd> {
    fs::chmodat(&parent, name, Mode::RWXU, AtFlags::empty())?;
    open_directory_at(parent, name)
}
