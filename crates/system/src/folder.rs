//! Directories by their path, as far as they can be read.

use std::fs::DirEntry;
use std::path::Path;

/// The entries of a directory that can be read; none where it is missing or closed to us.
pub fn readable_entries(folder: &Path) -> impl Iterator<Item = DirEntry> + use<> {
    std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok)
}
