//! Placeholders: empty files and directories that stand in for a missing name while a command runs.
//!
//! Law: a placeholder is empty and has a mode that nobody gives to a file of theirs. Whatever has
//! content is somebody's.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The permission bits of a directory that stands for a protected one.
pub const DIRECTORY_MODE: u32 = 0o1500;
/// The permission bits of a file that stands for a protected one.
pub const FILE_MODE: u32 = 0o1400;

/// Tells whether the file at a path only stands in for a missing one.
pub fn is_placeholder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| is_marked(&metadata, path))
}

/// The same of a file whose metadata is known already.
pub fn is_marked(metadata: &Metadata, path: &Path) -> bool {
    match metadata.mode() & 0o7777 {
        DIRECTORY_MODE if metadata.is_dir() => {
            match std::fs::read_dir(path) {
                Ok(mut entries) => entries.next().is_none(),
                // Removed by the last who needed it: nothing is there, as with a placeholder.
                Err(error) => error.kind() == std::io::ErrorKind::NotFound,
            }
        }
        FILE_MODE => metadata.is_file() && metadata.len() == 0,
        _ => false,
    }
}
