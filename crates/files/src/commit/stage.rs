//! New contents beside their targets: whole, synced, and dressed like the files they will replace.

use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use jm_system::fault;
use jm_types::{Digest, ErrorKind, ToolError, ignore_error};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{self, AtFlags, Mode, OFlags, Stat, Timespec, Timestamps};
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};

use super::attributes::dress;
use super::change::{After, FileChange, failed};
use crate::open::Opening;
use crate::resolve::Found;
use crate::sandbox::{SafePath, io_error, system_error};

const NEW_FILE: OFlags = OFlags::WRONLY
    .union(OFlags::CREATE)
    .union(OFlags::EXCL)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// A directory that is there already, in which new contents are staged; held open throughout.
pub(super) struct StagingPlace {
    pub(super) directory: OwnedFd,
    pub(super) opening: Opening,
    pub(super) path: PathBuf,
    identity: (u64, u64),
}

/// One file, staged.
pub(super) struct StagedFile {
    pub(super) place: usize,
    /// Directories between the place and the file that are still to be made.
    pub(super) missing: Vec<OsString>,
    pub(super) name: OsString,
    pub(super) temporary: String,
    /// There was no file before.
    pub(super) is_new: bool,
    /// The content that the change was computed from.
    pub(super) before: Option<Digest>,
    /// The new content; nothing when the file goes.
    pub(super) after: Option<Digest>,
    pub(super) mode: Option<u32>,
    pub(super) mode_after: u32,
    pub(super) notes: Vec<String>,
    file: Option<OwnedFd>,
    /// Inode of the new content, to recognise it after an exchange.
    pub(super) inode: u64,
}

/// The place of a change: its parent directory, or what there is of the way to it. Its index in
/// `places`, and the directories that are missing.
pub(super) fn place(
    places: &mut Vec<StagingPlace>,
    path: &SafePath,
    nth: usize,
) -> Result<(usize, Vec<OsString>), ToolError> {
    let fail = |error| io_error(path.asked(), error);
    fault::fail_point("commit.directory", nth).map_err(fail)?;
    let parent = path.relative().parent().unwrap_or(Path::new(""));
    let existing = match path.found() {
        Found::Missing { existing } => existing,
        Found::File | Found::Directory | Found::Special(_) => parent.iter().count(),
    };
    let there: PathBuf = parent.iter().take(existing).collect();
    let missing = parent.iter().skip(existing).map(OsString::from).collect();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    let (opening, root) = (path.opening(), path.root());
    let directory = opening.open(&**root, &there, flags, Mode::empty()).map_err(fail)?;
    let identity = identity(&fs::fstat(&directory).map_err(fail)?);
    if let Some(known) = places.iter().position(|place| place.identity == identity) {
        return Ok((known, missing));
    }
    if is_append_only(&directory) {
        return Err(ToolError::io(path.asked(), "its directory is append-only")
            .hint("files cannot be replaced there; allow it with `chattr -a`"));
    }
    let path = root.path().join(&there);
    places.push(StagingPlace { directory, opening, path, identity });
    Ok((places.len() - 1, missing))
}

/// Names can be made in such a directory, and neither changed nor removed: our temporary file would
/// stay.
#[cfg(target_os = "linux")]
fn is_append_only(directory: &OwnedFd) -> bool {
    let seen = fs::statx(directory, "", AtFlags::EMPTY_PATH, fs::StatxFlags::TYPE);
    seen.is_ok_and(|seen| seen.stx_attributes.contains(fs::StatxAttributes::APPEND))
}

#[cfg(not(target_os = "linux"))]
fn is_append_only(_: &OwnedFd) -> bool {
    false
}

impl StagingPlace {
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }

    pub(super) fn identity(&self) -> (u64, u64) {
        self.identity
    }

    /// The names in it are on disk.
    pub(super) fn sync(&self, nth: usize) -> Result<(), ToolError> {
        let fail = |error| system_error(&self.path, error);
        fault::fail_point("commit.sync_directory", nth).map_err(fail)?;
        fs::fsync(&self.directory).map_err(fail)
    }
}

fn identity(stat: &Stat) -> (u64, u64) {
    (stat.st_dev, stat.st_ino)
}

/// The permission bits that the umask leaves of a new directory's.
pub(super) fn new_directory_mode() -> u32 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let umask = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    let umask = umask.and_then(|octal| u32::from_str_radix(octal.trim(), 8).ok());
    0o777 & !umask.unwrap_or(0o022)
}

/// Creates the temporary file, still empty.
pub(super) fn stage(
    place: &StagingPlace,
    (index, missing): (usize, Vec<OsString>),
    change: &FileChange,
    nth: usize,
) -> Result<StagedFile, ToolError> {
    let fail = |error| failed(change, error);
    fault::fail_point("commit.create", nth).map_err(fail)?;
    let name = change.path.relative().file_name().ok_or_else(|| fail(Errno::ISDIR))?.to_owned();
    let temporary = temporary_name().map_err(fail)?;
    let before = change.before.as_ref().map(|bytes| Digest::of(bytes));
    let is_new = before.is_none();
    let staged = |after, file, inode| StagedFile {
        place: index,
        missing,
        name,
        temporary: temporary.clone(),
        is_new,
        before,
        after,
        mode: None,
        mode_after: 0,
        notes: Vec::new(),
        file,
        inode,
    };
    let After::Content { bytes, .. } = &change.after else {
        return Ok(staged(None, None, 0));
    };
    // A new file gets what the umask leaves; one that replaces another starts private.
    let mode = if is_new { 0o666 } else { 0o600 };
    let file = fs::openat(place.fd(), &*temporary, NEW_FILE, Mode::from_raw_mode(mode))
        .map_err(|error| unstaged(change, error))?;
    let inode = fs::fstat(&file).map_err(fail)?.st_ino;
    Ok(staged(Some(Digest::of(bytes)), Some(file), inode))
}

impl StagedFile {
    /// Content, owner, attributes, permissions, sync: in this order. Then the file is closed, so that
    /// many may wait.
    pub(super) fn fill(&mut self, change: &FileChange, nth: usize) -> Result<(), ToolError> {
        let file = self.file.take();
        let fail = |error| failed(change, error);
        let old = self.old(change).map_err(fail)?;
        self.mode = old.as_ref().map(|(_, stat)| stat.st_mode & 0o7777);
        let (Some(file), After::Content { bytes, mode }) = (&file, &change.after) else {
            return Ok(());
        };
        fault::fail_point("commit.write", nth).map_err(fail)?;
        let io = |error: std::io::Error| unwritten(change.path.asked(), &error);
        File::from(file.try_clone().map_err(io)?).write_all(bytes).map_err(io)?;
        let mut rights = mode.or(self.mode);
        if let Some((old, stat)) = &old {
            let dressed = dress(file.as_fd(), old.as_fd(), stat);
            rights = rights.map(|mode| dressed.allows(mode));
            self.notes = dressed.notes;
        }
        if let Some(mode) = rights {
            // After chown, which clears the set-user-id bits.
            fs::fchmod(file, Mode::from_raw_mode(mode)).map_err(fail)?;
        }
        self.mode_after = fs::fstat(file).map_err(fail)?.st_mode & 0o7777;
        fault::fail_point("commit.sync", nth).map_err(fail)?;
        fs::fsync(file).map_err(fail)
    }

    /// The file that is to be replaced or removed.
    fn old(&self, change: &FileChange) -> rustix::io::Result<Option<(OwnedFd, Stat)>> {
        if self.is_new {
            return Ok(None);
        }
        let old = change.path.open(OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?;
        let stat = fs::fstat(&old)?;
        Ok(Some((old, stat)))
    }

    /// The old file once more under `name`, dressed like it.
    pub(super) fn copy_old(
        &self,
        place: &StagingPlace,
        change: &FileChange,
        name: &str,
    ) -> rustix::io::Result<()> {
        let Some((old, stat)) = self.old(change)? else { return Ok(()) };
        let bytes = change.before.as_ref().map_or(&[][..], |bytes| bytes.as_slice());
        let copy = fs::openat(place.fd(), name, NEW_FILE, Mode::from_raw_mode(0o600))?;
        let mut file = File::from(copy);
        let io = |error| Errno::from_io_error(&error).unwrap_or(Errno::IO);
        file.write_all(bytes).map_err(io)?;
        // What cannot be kept of it was said of the new content already.
        let rights = dress(file.as_fd(), old.as_fd(), &stat).allows(stat.st_mode & 0o7777);
        fs::fchmod(&file, Mode::from_raw_mode(rights))?;
        fs::futimens(&file, &times(&stat))?;
        fs::fsync(&file)
    }

    pub(super) fn remove_temporary(&self, place: &StagingPlace) {
        ignore_error(
            fs::unlinkat(place.fd(), &*self.temporary, AtFlags::empty()),
            "a temp file that cannot be removed now is found by its name later; nothing else can be done",
        );
    }
}

/// The times at which the old file was read and written last.
fn times(stat: &Stat) -> Timestamps {
    let at = |tv_sec, tv_nsec| Timespec { tv_sec, tv_nsec };
    Timestamps {
        last_access: at(stat.st_atime, stat.st_atime_nsec as _),
        last_modification: at(stat.st_mtime, stat.st_mtime_nsec as _),
    }
}

/// A file that may be written, in a directory that may not.
fn unstaged(change: &FileChange, error: Errno) -> ToolError {
    let denied = failed(change, error);
    match (error, &change.before) {
        (Errno::ACCESS | Errno::PERM, Some(_)) => denied
            .hint("make its directory writable too: files are replaced by a new file beside them"),
        _ => denied,
    }
}

/// Short whatever the target's name is, and not to be guessed.
pub(super) fn temporary_name() -> rustix::io::Result<String> {
    let mut noise = [0_u8; 8];
    getrandom(&mut noise[..], GetRandomFlags::empty())?;
    let number = u64::from_ne_bytes(noise);
    Ok(format!(".jm-{}-{number:016x}.tmp", std::process::id()))
}

/// A full disk is told apart from all else that keeps bytes from being written.
fn unwritten(path: &str, error: &std::io::Error) -> ToolError {
    let (file, message) = (PathBuf::from(path), error.to_string());
    match Errno::from_io_error(error) {
        Some(errno @ (Errno::NOSPC | Errno::DQUOT)) => system_error(path, errno),
        Some(_) | None => ToolError::new(ErrorKind::WriteFailed { path: file, message }),
    }
}
