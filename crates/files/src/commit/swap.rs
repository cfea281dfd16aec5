//! The moment a file changes: a compare-and-swap of names.
//!
//! Law: after the exchange the temporary name holds what the target was. If that is not what the
//! change was computed from, another writer was there meanwhile, and theirs goes back; where it cannot, it
//! stays under that name.

use std::ffi::OsStr;
use std::fs::File;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use jm_system::fault;
use jm_system::stream_hash::hash_reader;
use jm_types::freshness::CHANGED;
use jm_types::{Digest, ErrorKind, ToolError, ignore_error};
use rustix::fd::BorrowedFd;
use rustix::fs::{self, AtFlags, FlockOperation, Mode, OFlags, RenameFlags};
use rustix::io::{self, Errno};
use rustix::path::Arg;

use super::change::{After, FileChange, failed};
use super::stage::{StagedFile, StagingPlace};
use crate::open::Opening;

const LOCK_PATIENCE: Duration = Duration::from_secs(10);

/// Other Journeyman processes stay out of these directories until the places are closed: a lock belongs
/// to the open file, and each commit opens its own.
///
/// Taken in one global order, so that two commits cannot wait for each other.
pub(super) fn lock_all(places: &[StagingPlace]) -> Result<(), ToolError> {
    let mut order: Vec<&StagingPlace> = places.iter().collect();
    order.sort_by_key(|place| place.identity());
    order.into_iter().try_for_each(lock)
}

fn lock(place: &StagingPlace) -> Result<(), ToolError> {
    let began = Instant::now();
    loop {
        match fs::flock(place.fd(), FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(Errno::WOULDBLOCK | Errno::INTR) if began.elapsed() < LOCK_PATIENCE => {
                std::thread::sleep(Duration::from_millis(1));
            }
            // A file system without locks leaves the exchange itself as the only guard.
            Err(Errno::NOTSUP | Errno::NOSYS | Errno::NOLCK) => return Ok(()),
            Err(Errno::WOULDBLOCK) => {
                return Err(ToolError::io(
                    &place.path,
                    "another program holds a lock on the directory",
                )
                .hint("nothing was changed; try again when it has ended"));
            }
            Err(error) => return Err(crate::sandbox::system_error(&place.path, error)),
        }
    }
}

/// The name under which what was swapped out waits until all is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waits {
    UnderTheTemporaryName,
    /// Without exchange it had to be kept under another name first.
    Aside,
}

/// `target` is the directory that the file is in: its place, or a new one.
pub(super) fn swap_in(
    place: &StagingPlace,
    target: BorrowedFd<'_>,
    staged: &StagedFile,
    change: &FileChange,
    nth: usize,
) -> Result<Waits, ToolError> {
    match (&change.before, &change.after) {
        (None, After::Absent) => {}
        (None, After::Content { .. }) => {
            move_to_free_name(place, staged, target, nth).map_err(|error| match error {
                Errno::EXIST => stale(change.path.asked()),
                error => failed(change, error),
            })?;
        }
        (Some(_), After::Content { .. }) => return replace(place, staged, change, nth),
        (Some(_), After::Absent) => {
            fs::renameat(place.fd(), &*staged.name, place.fd(), &*staged.temporary)
                .map_err(|error| failed(change, error))?;
        }
    }
    Ok(Waits::UnderTheTemporaryName)
}

/// After the swap: what stood there is under the temporary name, and is what was expected.
pub(super) fn compare(
    place: &StagingPlace,
    staged: &StagedFile,
    change: &FileChange,
    waits: Waits,
    nth: usize,
) -> Result<(), ToolError> {
    if staged.is_new {
        return Ok(());
    }
    let fail = |error| failed(change, error);
    fault::fail_point("commit.compare", nth).map_err(fail)?;
    if waits == Waits::Aside {
        let kept = kept_name(staged);
        fs::renameat(place.fd(), &*kept, place.fd(), &*staged.temporary).map_err(fail)?;
    }
    if holds_the_old(place, staged, &staged.temporary) {
        Ok(())
    } else {
        Err(stale(change.path.asked()))
    }
}

/// Checks that a name holds what the change was computed from.
fn holds_the_old(place: &StagingPlace, staged: &StagedFile, name: impl Arg) -> bool {
    digest_of(place, name).is_ok_and(|digest| Some(digest) == staged.before)
}

/// A removed file gets its name back, unless another process has taken it.
fn put_back(place: &StagingPlace, staged: &StagedFile) -> io::Result<()> {
    move_to_free_name(place, staged, place.fd(), 0)
}

/// The temporary file gets its name, which nothing may have.
///
/// A rename that replaces nothing, else a hard link, whose temporary name goes with the clean-up. Where
/// there is neither, another program's new file can be lost between the look and the rename.
fn move_to_free_name(
    place: &StagingPlace,
    staged: &StagedFile,
    to: BorrowedFd<'_>,
    nth: usize,
) -> io::Result<()> {
    let names = (&*staged.temporary, &*staged.name);
    if exchanges(place) {
        let renamed = fs::renameat_with(place.fd(), names.0, to, names.1, RenameFlags::NOREPLACE);
        match renamed {
            Err(error) if unsupported(error) => {}
            answer => return answer,
        }
    }
    match link((place.fd(), OsStr::new(names.0)), (to, names.1), nth) {
        Err(error) if has_no_links(error) => {}
        answer => return answer,
    }
    match fs::statat(to, names.1, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => fs::renameat(place.fd(), names.0, to, names.1),
        Ok(_) => Err(Errno::EXIST),
        Err(error) => Err(error),
    }
}

fn link(
    from: (BorrowedFd<'_>, &OsStr),
    to: (BorrowedFd<'_>, &OsStr),
    nth: usize,
) -> io::Result<()> {
    fault::fail_point("commit.link", nth)?;
    fs::linkat(from.0, from.1, to.0, to.1, AtFlags::empty())
}

/// exFAT and FAT know no second name of a file, nor do many shares; some file systems allow no more of
/// them, and a person may not link what is somebody else's.
fn has_no_links(error: Errno) -> bool {
    unsupported(error) || [Errno::PERM, Errno::ACCESS, Errno::MLINK].contains(&error)
}

fn replace(
    place: &StagingPlace,
    staged: &StagedFile,
    change: &FileChange,
    nth: usize,
) -> Result<Waits, ToolError> {
    if exchange(place, staged).map_err(|error| failed(change, error))? {
        Ok(Waits::UnderTheTemporaryName)
    } else {
        replace_by_rename(place, staged, change, nth).map(|()| Waits::Aside)
    }
}

/// For file systems without exchange: keep the old file under a second name, then rename over it.
///
/// Between the comparison and the rename another program's write can be lost; our own processes
/// are kept out by the lock.
fn replace_by_rename(
    place: &StagingPlace,
    staged: &StagedFile,
    change: &FileChange,
    nth: usize,
) -> Result<(), ToolError> {
    let fail = |error| failed(change, error);
    let kept = kept_name(staged);
    keep(place, staged, change, &kept, nth)?;
    let outcome = if holds_the_old(place, staged, &staged.name) {
        fs::renameat(place.fd(), &*staged.temporary, place.fd(), &*staged.name).map_err(fail)
    } else {
        Err(stale(change.path.asked()))
    };
    if outcome.is_err() {
        fs::unlinkat(place.fd(), &*kept, AtFlags::empty()).map_err(fail)?;
    }
    outcome
}

/// The old file by another name, or a copy of it where a file has only one.
fn keep(
    place: &StagingPlace,
    staged: &StagedFile,
    change: &FileChange,
    kept: &str,
    nth: usize,
) -> Result<(), ToolError> {
    match link((place.fd(), &staged.name), (place.fd(), OsStr::new(kept)), nth) {
        Err(error) if has_no_links(error) => {
            let copied = staged.copy_old(place, change, kept);
            // Half a copy is of no use to anybody; one that cannot be removed is found by its name.
            copied.inspect_err(|_| {
                let removed = fs::unlinkat(place.fd(), kept, AtFlags::empty());
                ignore_error(removed, "a name that stays is found as a leftover");
            })
        }
        answer => answer,
    }
    .map_err(|error| failed(change, error))
}

/// Undoes one swap. What is foreign by now is left where it is.
pub(super) fn swap_back(
    place: &StagingPlace,
    target: BorrowedFd<'_>,
    staged: &StagedFile,
    nth: usize,
) -> io::Result<()> {
    fault::fail_point("commit.back", nth)?;
    if staged.is_new {
        return match fs::statat(target, &*staged.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if stat.st_ino == staged.inode => {
                fs::unlinkat(target, &*staged.name, AtFlags::empty())
            }
            Ok(_) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error),
        };
    }
    if staged.after.is_none() {
        return match put_back(place, staged) {
            Err(Errno::EXIST) => give_way(place, staged),
            answer => answer,
        };
    }
    // What stands there now must be ours, or it is not ours to replace.
    if !inode(place, &staged.name).is_ok_and(|found| found == staged.inode) {
        return give_way(place, staged);
    }
    if exchange(place, staged)? {
        return Ok(());
    }
    let kept = kept_name(staged);
    match fs::renameat(place.fd(), &*kept, place.fd(), &*staged.name) {
        Err(Errno::NOENT) => {
            fs::renameat(place.fd(), &*staged.temporary, place.fd(), &*staged.name)
        }
        answer => answer,
    }
}

/// Another process has taken the name since, or removed it. If what we took out was not what we expected, it was
/// theirs, and has gone as it would have gone without us.
fn give_way(place: &StagingPlace, staged: &StagedFile) -> io::Result<()> {
    let is_theirs = match digest_of(place, &staged.temporary) {
        Ok(digest) => Some(digest) != staged.before,
        // A link, or no file at all. What cannot be read may be anybody's.
        Err(error) => {
            error.kind() == std::io::ErrorKind::InvalidData
                || Errno::from_io_error(&error) == Some(Errno::LOOP)
        }
    };
    if is_theirs {
        fs::unlinkat(place.fd(), &*staged.temporary, AtFlags::empty())
    } else {
        Err(Errno::STALE)
    }
}

/// Renames what could not be put back, so that no later clean-up takes it for a leftover.
pub(super) fn set_aside(place: &StagingPlace, temporary: &str) -> String {
    let saved = temporary.replace(".tmp", ".saved");
    let waits_under = [old_name(temporary), temporary.to_owned()];
    let mut moved =
        waits_under.iter().map(|name| fs::renameat(place.fd(), &**name, place.fd(), &*saved));
    if moved.any(|moved| moved.is_ok()) { saved } else { temporary.to_owned() }
}

/// After success: the old content, under its temporary name, is no longer needed.
pub(super) fn discard(place: &StagingPlace, staged: &StagedFile) -> io::Result<()> {
    match fs::unlinkat(place.fd(), &*staged.temporary, AtFlags::empty()) {
        Err(Errno::NOENT) => Ok(()),
        answer => answer,
    }
}

/// `false` when this file system, or the portable way of opening, has no exchange.
fn exchange(place: &StagingPlace, staged: &StagedFile) -> io::Result<bool> {
    exchange_names(place, &staged.temporary, &staged.name)
}

pub(super) fn exchange_names(place: &StagingPlace, from: &str, to: &OsStr) -> io::Result<bool> {
    if !exchanges(place) {
        return Ok(false);
    }
    match fs::renameat_with(place.fd(), from, place.fd(), to, RenameFlags::EXCHANGE) {
        Ok(()) => Ok(true),
        Err(error) if unsupported(error) => Ok(false),
        Err(error) => Err(error),
    }
}

fn exchanges(place: &StagingPlace) -> bool {
    match place.opening {
        #[cfg(target_os = "linux")]
        Opening::Kernel => true,
        Opening::Walk => false,
    }
}

fn unsupported(error: Errno) -> bool {
    [Errno::INVAL, Errno::NOSYS, Errno::OPNOTSUPP].contains(&error)
}

fn old_name(temporary: &str) -> String {
    format!("{temporary}.old")
}

fn kept_name(staged: &StagedFile) -> String {
    old_name(&staged.temporary)
}

pub(super) fn inode(place: &StagingPlace, name: &OsStr) -> io::Result<u64> {
    fs::statat(place.fd(), name, AtFlags::SYMLINK_NOFOLLOW).map(|stat| stat.st_ino)
}

fn digest_of(place: &StagingPlace, name: impl Arg) -> std::io::Result<Digest> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(fs::openat(place.fd(), name, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(std::io::ErrorKind::InvalidData.into());
    }
    hash_reader(file)
}

pub(super) fn stale(asked: &str) -> ToolError {
    let file = PathBuf::from(asked);
    ToolError::new(ErrorKind::StaleFile { file, reason: CHANGED.to_owned() })
        .hint("another program changed the file meanwhile; read it again")
}
