//! The room that a layer takes: disk blocks (`st_blocks`) of what lies in its upper directory and in its attic.

use std::collections::BTreeSet;
use std::path::Path;

use rustix::fd::OwnedFd;
use rustix::fs::{self, AtFlags, FileType};
use rustix::io::{self, Errno};

use super::plan::LayerBounds;
use super::{ATTIC, UPPER, open_directory, open_directory_at};
use crate::file::OpenDirectory;

/// The unit of `st_blocks`, whatever the file system's blocks are.
const BLOCK_BYTES: u64 = 512;

/// The bytes on disk of the versions that a layer holds now; a file with several names counts once.
pub fn stored_bytes(home: &Path) -> io::Result<u64> {
    let home = open_directory(home)?;
    let mut count = BlockCount { bytes: 0, seen: BTreeSet::new() };
    for name in [UPPER, ATTIC] {
        count.inside(&open_directory_at(&home, name)?, LayerBounds::default().depth)?;
    }
    Ok(count.bytes)
}

struct BlockCount {
    bytes: u64,
    /// Files with several names.
    seen: BTreeSet<u64>,
}

impl BlockCount {
    fn inside(&mut self, directory: &OwnedFd, depth: usize) -> io::Result<()> {
        for name in OpenDirectory::names_in(directory)? {
            let found = match fs::statat(directory, &name, AtFlags::SYMLINK_NOFOLLOW) {
                // Undo exchanges names meanwhile.
                Err(Errno::NOENT) => continue,
                found => found?,
            };
            let is_directory = FileType::from_raw_mode(found.st_mode) == FileType::Directory;
            if is_directory || found.st_nlink < 2 || self.seen.insert(found.st_ino) {
                self.bytes += u64::try_from(found.st_blocks).unwrap_or(0) * BLOCK_BYTES;
            }
            if !is_directory || depth == 0 {
                continue;
            }
            // A directory that cannot be listed counts itself only.
            if let Ok(inner) = open_directory_at(directory, &name) {
                self.inside(&inner, depth - 1)?;
            }
        }
        Ok(())
    }
}
