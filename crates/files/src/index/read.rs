//! Reading the files that a scan found to be new or moved, in the order of their paths, large ones last.
//!
//! Law: a content goes with the stat of the very file that was read (`fstat` on its descriptor). A file
//! beyond the budget stays named as unread.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use jm_types::Digest;
use rustix::fd::OwnedFd;
use rustix::fs::{self, FileType, Mode, OFlags};
use rustix::io::{self, Errno};

use super::ContentSink;
use super::folder::{FolderGround, FoundFolder, joined};
use super::stat::{FileStat, IndexedFile, Known};
use super::table::{EntryState, FolderTable, TableEntry};
use crate::file::OpenDirectory;

/// A file that is larger than this waits until the others were read: one of them must not cost the rest.
pub(crate) const LARGE: u64 = 8 * 1024 * 1024;

pub(crate) struct Reading<'a> {
    pub(crate) ground: FolderGround<'a>,
    /// The moment in which the look began, in nanoseconds.
    pub(crate) now: i128,
    pub(crate) keep: ContentSink<'a>,
    pub(crate) bytes: u64,
}

/// A large file: its directory among the found ones, and its place in there.
struct LargeFile {
    folder: usize,
    at: usize,
    size: u64,
}

impl Reading<'_> {
    /// Reads what the tables say is unread, as far as the budget goes.
    pub(crate) fn run(&mut self, folders: &mut [FoundFolder]) {
        let mut later = Vec::new();
        for (folder, found) in folders.iter_mut().enumerate() {
            let FoundFolder::New { table, unread } = found else { continue };
            if unread.is_empty() {
                continue;
            }
            let directory =
                OpenDirectory::beneath(self.ground.sandbox, Path::new(&*table.path)).ok();
            for at in unread.iter().map(|at| *at as usize) {
                let size = table.entry(at).stat.size;
                if size > LARGE {
                    later.push(LargeFile { folder, at, size });
                } else {
                    self.file(directory.as_ref(), table, at);
                }
            }
        }
        self.large_files(later, folders);
    }

    /// The smaller before the larger.
    fn large_files(&mut self, mut later: Vec<LargeFile>, folders: &mut [FoundFolder]) {
        later.sort_by_key(|one| one.size);
        for LargeFile { folder, at, .. } in later {
            let FoundFolder::New { table, .. } = &mut folders[folder] else { continue };
            let directory =
                OpenDirectory::beneath(self.ground.sandbox, Path::new(&*table.path)).ok();
            self.file(directory.as_ref(), table, at);
        }
    }

    fn file(&mut self, directory: Option<&OpenDirectory>, table: &mut FolderTable, at: usize) {
        let FolderGround { known, limits, .. } = self.ground;
        if limits.is_out_of_time() || self.bytes > limits.budget.bytes {
            return self.leave(table, at);
        }
        let name = table.name(at);
        let known = known.folder(&table.path).and_then(|known| known.find(name));
        let known = known.and_then(TableEntry::file);
        let path = self.absolute(&table.path, name);
        let entry = match directory.ok_or(Errno::NOENT).and_then(|open| open_regular(open, name)) {
            Ok((_, stat)) if self.bytes.saturating_add(stat.size) > limits.budget.bytes => {
                return self.leave(table, at);
            }
            Ok((fd, stat)) => self.read(fd, &path, stat),
            Err(error) => Err(error),
        };
        let entry = entry.or_else(|_| self.as_it_was(&path, known, table.entry(at).stat));
        let passed_over = TableEntry::new(EntryState::PassedOver, table.entry(at).stat);
        table.set(at, entry.map_or(passed_over, |file| TableEntry::of(&file)));
    }

    /// Nothing but the budget keeps the file from being read. If it changed just now, a further change
    /// may not show in its stat.
    fn leave(&self, table: &mut FolderTable, at: usize) {
        let stat = table.entry(at).stat;
        if stat.is_recent(self.now) {
            table.set(at, TableEntry::new(EntryState::PassedOver, stat));
        }
    }

    fn absolute(&self, folder: &str, name: &[u8]) -> PathBuf {
        // Only names that are text are read.
        let name = String::from_utf8_lossy(name);
        self.ground.sandbox.working_root().path().join(joined(folder, &name))
    }

    fn read(&mut self, fd: OwnedFd, path: &Path, stat: FileStat) -> io::Result<IndexedFile> {
        let bytes = read_all(fd, stat.size)?;
        self.bytes += bytes.len() as u64;
        let known = if stat.is_recent(self.now) { Known::Recent } else { Known::Settled };
        let file = IndexedFile { stat, sha256: Digest::of(&bytes), known };
        (self.keep)(path, &file, Some(bytes));
        Ok(file)
    }

    /// A file that can no longer be read but was not written since is what it was.
    fn as_it_was(
        &mut self,
        path: &Path,
        known: Option<IndexedFile>,
        stat: FileStat,
    ) -> Result<IndexedFile, ()> {
        let known = known.filter(|known| known.stat.has_content_of(&stat)).ok_or(())?;
        let file = IndexedFile { stat, ..known };
        (self.keep)(path, &file, None);
        Ok(file)
    }
}

fn open_regular(directory: &OpenDirectory, name: &[u8]) -> io::Result<(OwnedFd, FileStat)> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let fd = fs::openat(directory, name, flags | OFlags::CLOEXEC, Mode::empty())?;
    let raw = fs::fstat(&fd)?;
    match FileType::from_raw_mode(raw.st_mode) {
        FileType::RegularFile => Ok((fd, FileStat::new(&raw))),
        _ => Err(Errno::INVAL),
    }
}

fn read_all(fd: OwnedFd, size: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    // A file that grows while it is read is cut; its stat will have moved when we look again.
    let read = File::from(fd).take(size.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    Ok(bytes)
}
