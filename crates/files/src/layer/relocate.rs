//! A directory moved within a mounted overlay, where `rename(2)` of one that lies beneath answers `EXDEV`.
//!
//! Law: the new name appears whole, by one rename. What fails or is stopped on the way goes back to where
//! it was. No file is read: each is moved by a rename of its own, for which the kernel copies it up.

use std::ffi::{CString, OsStr};

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{self, AtFlags, Dir, Mode, RenameFlags};
use rustix::io::{self, Errno};

use super::node::{NodeTime, dress_like, set_modified};
use super::open_directory_at;

/// A name in an open directory.
#[derive(Debug, Clone, Copy)]
pub struct EntryName<'a> {
    /// The directory that holds the name.
    pub directory: BorrowedFd<'a>,
    /// One component, no path.
    pub name: &'a OsStr,
}

/// Moves a directory to another name of the same overlay. An empty directory of that name is replaced, unless
/// `flags` say otherwise. `is_stopped` is asked before each step.
pub fn move_directory(
    from: EntryName<'_>,
    to: EntryName<'_>,
    flags: RenameFlags,
    is_stopped: &dyn Fn() -> bool,
) -> io::Result<()> {
    if !is_free_or_empty(to)? {
        return Err(Errno::NOTEMPTY);
    }
    let source = open_directory_at(from.directory, from.name)?;
    let (name, moving) = make_beside(to.directory, "moving")?;
    let outcome = move_contents(&source, &moving, is_stopped).and_then(|()| {
        let appeared = fs::renameat_with(to.directory, &name, to.directory, to.name, flags);
        appeared.inspect_err(|_| give_back(&moving, &source))
    });
    if outcome.is_err() {
        fs::unlinkat(to.directory, &name, AtFlags::REMOVEDIR)?;
        return outcome;
    }
    remove_emptied(from, &source, &moving)
}

/// Exchanges two names of the same overlay, at least one of which is a directory that lies beneath.
pub fn exchange_names(
    one: EntryName<'_>,
    other: EntryName<'_>,
    is_stopped: &dyn Fn() -> bool,
) -> io::Result<()> {
    let (name, _) = make_beside(one.directory, "exchange")?;
    fs::unlinkat(one.directory, &name, AtFlags::REMOVEDIR)?;
    let aside = EntryName { directory: one.directory, name: OsStr::new(&name) };
    move_entry(one, aside, is_stopped)?;
    if let Err(error) = move_entry(other, one, is_stopped) {
        move_entry(aside, one, &|| false)?;
        return Err(error);
    }
    if let Err(error) = move_entry(aside, other, is_stopped) {
        move_entry(one, other, &|| false)?;
        move_entry(aside, one, &|| false)?;
        return Err(error);
    }
    Ok(())
}

/// Moves a file or directory to a name that is free.
fn move_entry(
    from: EntryName<'_>,
    to: EntryName<'_>,
    is_stopped: &dyn Fn() -> bool,
) -> io::Result<()> {
    let free = RenameFlags::NOREPLACE;
    match fs::renameat_with(from.directory, from.name, to.directory, to.name, free) {
        Err(Errno::XDEV) => move_directory(from, to, free, is_stopped),
        moved => moved,
    }
}

fn is_free_or_empty(place: EntryName<'_>) -> io::Result<bool> {
    match open_directory_at(place.directory, place.name) {
        Ok(directory) => Ok(names(&directory)?.is_empty()),
        Err(Errno::NOENT) => Ok(true),
        Err(error) => Err(error),
    }
}

/// A new directory under a name that nothing else has.
fn make_beside(directory: BorrowedFd<'_>, act: &str) -> io::Result<(String, OwnedFd)> {
    for number in 0_u32.. {
        let name = format!(".jm-{act}-{number}");
        match fs::mkdirat(directory, &name, Mode::RWXU) {
            Err(Errno::EXIST) => {}
            made => {
                made?;
                let opened = open_directory_at(directory, &*name)?;
                return Ok((name, opened));
            }
        }
    }
    Err(Errno::EXIST)
}

/// Moves everything in one directory to another, which then looks like the first one did.
fn move_contents(
    source: &OwnedFd,
    target: &OwnedFd,
    is_stopped: &dyn Fn() -> bool,
) -> io::Result<()> {
    let modified = NodeTime::modified(&fs::fstat(source)?);
    let moved = names(source)?.into_iter().try_for_each(|name| {
        if is_stopped() {
            return Err(Errno::INTR);
        }
        move_child(source, target, &name, is_stopped)
    });
    let outcome = moved.and_then(|()| {
        dress_like(target, source)?;
        set_modified(target, modified)
    });
    if outcome.is_err() {
        give_back(target, source);
        jm_types::ignore_error(set_modified(source, modified), "the contents are what matters");
    }
    outcome
}

fn move_child(
    source: &OwnedFd,
    target: &OwnedFd,
    name: &CString,
    is_stopped: &dyn Fn() -> bool,
) -> io::Result<()> {
    match fs::renameat_with(source, name, target, name, RenameFlags::NOREPLACE) {
        Err(Errno::XDEV) => {}
        moved => return moved,
    }
    let from = open_directory_at(source, name)?;
    fs::mkdirat(target, name, Mode::RWXU)?;
    let outcome = open_directory_at(target, name).and_then(|to| {
        move_contents(&from, &to, is_stopped)?;
        fs::unlinkat(source, name, AtFlags::REMOVEDIR).inspect_err(|_| give_back(&to, &from))
    });
    if outcome.is_err() {
        fs::unlinkat(target, name, AtFlags::REMOVEDIR)?;
    }
    outcome
}

/// Moves back what was moved. Everything in `moved` was made on the layer by now, so a rename is enough.
fn give_back(moved: &impl AsFd, home: &impl AsFd) {
    for name in names(moved).unwrap_or_default() {
        jm_types::ignore_error(
            fs::renameat_with(moved, &name, home, &name, RenameFlags::NOREPLACE),
            "what another process put there meanwhile stays where it is",
        );
    }
}

/// Removes the directory that was moved. What another process put into it meanwhile goes after the rest.
fn remove_emptied(from: EntryName<'_>, source: &OwnedFd, target: &OwnedFd) -> io::Result<()> {
    const ATTEMPTS: u32 = 8;
    for _ in 0..ATTEMPTS {
        match fs::unlinkat(from.directory, from.name, AtFlags::REMOVEDIR) {
            Err(Errno::NOTEMPTY) => give_back(source, target),
            removed => return removed,
        }
    }
    Ok(())
}

fn names(directory: &impl AsFd) -> io::Result<Vec<CString>> {
    let mut all = Vec::new();
    for entry in Dir::read_from(directory)? {
        let name = entry?.file_name().to_owned();
        if !matches!(name.as_bytes(), b"." | b"..") {
            all.push(name);
        }
    }
    Ok(all)
}
