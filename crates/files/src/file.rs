//! Reading a regular file, and listing a directory, through a `SafePath`.
//!
//! Law: only regular files are read, by descriptor, and never more bytes than were asked for,
//! whatever the file says its size is.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use jm_system::os_error::errno_text;
use jm_system::stream_hash::hash_reader;
use jm_types::{Digest, ErrorKind, ToolError};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{self, AtFlags, Dir, FileType, OFlags};
use rustix::io::Errno;

use crate::resolve::Found;
use crate::sandbox::{SafePath, Sandbox, io_error, system_error};

/// An open regular file.
#[derive(Debug)]
pub struct OpenFile {
    /// Open for reading, at its beginning.
    pub file: File,
    /// Bytes, as the directory entry says.
    pub size: u64,
    /// More than one: the same file has other names, perhaps outside.
    pub links: u64,
    /// It has no permission bit for writing.
    pub is_read_only: bool,
    asked: String,
}

impl OpenFile {
    /// Opens a regular file without following links or waiting for a FIFO.
    pub fn open(path: &SafePath) -> Result<Self, ToolError> {
        match path.found() {
            Found::File => {}
            Found::Directory => return Err(not_regular(path.asked(), "a directory")),
            Found::Special(what) => return Err(not_regular(path.asked(), what)),
            Found::Missing { .. } => return Err(ToolError::not_found(path.asked())),
        }
        // NONBLOCK: a FIFO swapped in since the look must not hang us.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let fd = path.open(flags).map_err(|error| io_error(path.asked(), error))?;
        let stat = fs::fstat(&fd).map_err(|error| io_error(path.asked(), error))?;
        match Found::from_type(FileType::from_raw_mode(stat.st_mode)) {
            Found::File => Ok(Self {
                file: File::from(fd),
                size: u64::try_from(stat.st_size).unwrap_or(0),
                links: stat.st_nlink as u64,
                is_read_only: stat.st_mode & 0o222 == 0,
                asked: path.asked().to_owned(),
            }),
            Found::Directory => Err(not_regular(path.asked(), "a directory")),
            Found::Special(what) => Err(not_regular(path.asked(), what)),
            Found::Missing { .. } => Err(ToolError::not_found(path.asked())),
        }
    }

    /// Its permission bits.
    pub fn mode(&self) -> Option<u32> {
        rustix::fs::fstat(&self.file).ok().map(|stat| stat.st_mode & 0o7777)
    }

    /// The next bytes, zero at the end.
    pub fn read_some(&mut self, buffer: &mut [u8]) -> Result<usize, ToolError> {
        loop {
            match self.file.read(buffer) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.unread(&error)),
                Ok(count) => return Ok(count),
            }
        }
    }

    /// The hash of all bytes from here, read a piece at a time: whatever the size, memory stays small.
    pub fn digest(&mut self) -> Result<Digest, ToolError> {
        hash_reader(&mut self.file).map_err(|error| self.unread(&error))
    }

    /// At most `most` bytes from here; the flag says that there is more.
    pub fn read_up_to(&mut self, most: u64) -> Result<(Vec<u8>, bool), ToolError> {
        let mut bytes = Vec::with_capacity(usize::try_from(self.size.min(most)).unwrap_or(0));
        let taken = Read::by_ref(&mut self.file).take(most + 1).read_to_end(&mut bytes);
        taken.map_err(|error| self.unread(&error))?;
        let more = bytes.len() as u64 > most;
        bytes.truncate(usize::try_from(most).unwrap_or(usize::MAX));
        Ok((bytes, more))
    }
}

impl OpenFile {
    fn unread(&self, error: &std::io::Error) -> ToolError {
        let (path, message) = (PathBuf::from(&self.asked), error.to_string());
        ToolError::new(ErrorKind::ReadFailed { path, message })
    }
}

fn not_regular(path: &str, what: &'static str) -> ToolError {
    ToolError::new(ErrorKind::NotRegular { path: path.into(), what })
}

/// The kind of a directory entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link, not followed.
    Symlink,
    /// A device, FIFO or socket.
    Other,
    /// A file system that does not tell without another look.
    Unknown,
}

impl EntryKind {
    fn from_type(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => EntryKind::File,
            FileType::Directory => EntryKind::Directory,
            FileType::Symlink => EntryKind::Symlink,
            _ => EntryKind::Other,
        }
    }
}

/// One name in a directory.
#[derive(Debug, Clone)]
pub struct DirectoryEntry {
    /// The name, which may be no UTF-8.
    pub name: OsString,
    /// The kind, by its own entry.
    pub kind: EntryKind,
    /// Bytes of a regular file.
    pub size: Option<u64>,
    /// Milliseconds since the epoch.
    pub modified_epoch_ms: Option<i64>,
    /// The reason why the entry could not be looked at.
    pub error: Option<(&'static str, String)>,
    /// A deny pattern covers it: it is named, and never entered.
    pub denied: bool,
}

/// An open directory that can be listed and entered without following links.
#[derive(Debug)]
pub struct OpenDirectory {
    fd: OwnedFd,
    absolute: PathBuf,
}

impl AsFd for OpenDirectory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// The reason why a directory cannot be listed: a stable code and the system's words.
pub type ListingFailure = (&'static str, String);

impl OpenDirectory {
    /// Opens a directory for listing without following links.
    pub fn open(path: &SafePath) -> Result<Self, ToolError> {
        match path.found() {
            Found::Directory => {}
            Found::File | Found::Special(_) => {
                return Err(ToolError::io(path.asked(), "path is not a directory"));
            }
            Found::Missing { .. } => return Err(ToolError::not_found(path.asked())),
        }
        let fd = path
            .open(OFlags::RDONLY | OFlags::DIRECTORY)
            .map_err(|error| io_error(path.asked(), error))?;
        Ok(Self { fd, absolute: path.absolute() })
    }

    /// A directory on the way to `path`, by its own path from the root.
    pub(crate) fn above(path: &SafePath, relative: &Path) -> Result<Self, ToolError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let fd = path
            .opening()
            .open(&**path.root(), relative, flags, fs::Mode::empty())
            .map_err(|error| io_error(path.asked(), error))?;
        Ok(Self { fd, absolute: path.root().path().join(relative) })
    }

    /// A directory beneath the working root, by its path from there.
    pub(crate) fn beneath(sandbox: &Sandbox, relative: &Path) -> rustix::io::Result<Self> {
        let (root, flags) = (sandbox.working_root(), OFlags::RDONLY | OFlags::DIRECTORY);
        let fd = sandbox.opening().open(root, relative, flags, fs::Mode::empty())?;
        Ok(Self { fd, absolute: root.path().join(relative) })
    }

    /// Opens a directory below this one by its name.
    pub fn enter(&self, name: &OsString) -> Result<Self, ListingFailure> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = fs::openat(&self.fd, &**name, flags, fs::Mode::empty())
            .map_err(|error| (code(error, "read_dir_failed"), errno_text(error)))?;
        Ok(Self { fd, absolute: self.absolute.join(name) })
    }

    /// A regular file of this directory; nothing where the name is a link, something else, or
    /// denied.
    pub fn open_file(
        &self,
        sandbox: &Sandbox,
        name: &OsStr,
    ) -> Result<Option<OpenFile>, ToolError> {
        if sandbox.denies_in(&self.absolute, name) { Ok(None) } else { self.open_undenied(name) }
    }

    /// The same for a name that no pattern denies.
    pub(crate) fn open_undenied(&self, name: &OsStr) -> Result<Option<OpenFile>, ToolError> {
        let fail = |error| system_error(self.absolute.join(name), error);
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = match fs::openat(&self.fd, name, flags, fs::Mode::empty()) {
            Err(Errno::LOOP) => return Ok(None),
            opened => opened.map_err(fail)?,
        };
        let stat = fs::fstat(&fd).map_err(fail)?;
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        Ok(is_file.then(|| OpenFile {
            file: File::from(fd),
            size: u64::try_from(stat.st_size).unwrap_or(0),
            links: stat.st_nlink as u64,
            is_read_only: stat.st_mode & 0o222 == 0,
            asked: name.to_string_lossy().into_owned(),
        }))
    }

    pub(crate) fn absolute(&self) -> &Path {
        &self.absolute
    }

    /// All names with their kinds, in no order.
    pub(crate) fn kinds(&self) -> Result<Vec<(OsString, EntryKind)>, ListingFailure> {
        let fail = |error: Errno| (code(error, "read_dir_failed"), errno_text(error));
        let own = rustix::io::dup(&self.fd).map_err(fail)?;
        let mut entries = Dir::new(own).map_err(fail)?;
        entries.rewind();
        let mut kinds = Vec::new();
        for entry in entries {
            let entry = entry.map_err(fail)?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let kind = match entry.file_type() {
                // Some file systems do not say.
                FileType::Unknown => fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW)
                    .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
                known => known,
            };
            kinds.push((name.to_owned(), EntryKind::from_type(kind)));
        }
        Ok(kinds)
    }

    /// All names, ascending by bytes.
    pub fn names(&self) -> Result<Vec<OsString>, ListingFailure> {
        Self::names_in(&self.fd)
            .map_err(|error| (code(error, "read_dir_failed"), errno_text(error)))
    }

    pub(crate) fn names_in(directory: &OwnedFd) -> rustix::io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        // On the descriptor itself: opening `.` anew would need the right to search.
        let mut entries = Dir::new(rustix::io::dup(directory)?)?;
        entries.rewind();
        for entry in entries {
            let entry = entry?;
            let name = std::ffi::OsStr::from_bytes(entry.file_name().to_bytes());
            if name != "." && name != ".." {
                names.push(name.to_owned());
            }
        }
        names.sort();
        Ok(names)
    }

    /// Looks at one name.
    pub fn entry(&self, sandbox: &Sandbox, name: OsString) -> DirectoryEntry {
        let denied = sandbox.denies_in(&self.absolute, &name);
        let stat = match fs::statat(&self.fd, &*name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(error) => {
                let error = Some((code(error, "metadata_unavailable"), errno_text(error)));
                let (kind, size, modified_epoch_ms) = (EntryKind::Unknown, None, None);
                return DirectoryEntry { name, kind, size, modified_epoch_ms, error, denied };
            }
        };
        let kind = EntryKind::from_type(FileType::from_raw_mode(stat.st_mode));
        let size = (kind == EntryKind::File).then(|| u64::try_from(stat.st_size).unwrap_or(0));
        let modified_epoch_ms = epoch_ms(stat.st_mtime, stat.st_mtime_nsec as u64);
        DirectoryEntry { name, kind, size, modified_epoch_ms, error: None, denied }
    }
}

fn epoch_ms(seconds: i64, nanoseconds: u64) -> Option<i64> {
    seconds.checked_mul(1000)?.checked_add(i64::try_from(nanoseconds / 1_000_000).ok()?)
}

fn code(error: Errno, otherwise: &'static str) -> &'static str {
    match error {
        Errno::ACCESS | Errno::PERM => "permission_denied",
        Errno::IO => "io_error",
        _ => otherwise,
    }
}
