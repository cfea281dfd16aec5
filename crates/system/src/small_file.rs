//! Atomic replacement of a small file of ours: a temporary file in the same directory, then `renameat`.
//!
//! Law: readers see the old content or the new one. The file is private (0600), and neither a link nor a
//! FIFO of the temporary name is opened.

use std::fs::File;
use std::io::{Error, ErrorKind, Result, Write};

use jm_types::ignore_error;
use rustix::fd::AsFd;
use rustix::fs::{AtFlags, Mode, OFlags};

/// The crash that a written file has to survive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// A power cut: content and name are synced.
    PowerCut,
    /// The end of this process: for facts that mean nothing after a power cut.
    ProcessEnd,
}

/// Replaces the file `name` of a directory whole.
pub fn replace_small_file(
    directory: impl AsFd,
    name: &str,
    content: &[u8],
    durability: Durability,
) -> Result<()> {
    let directory = directory.as_fd();
    let temporary = format!(".{name}.{}.tmp", std::process::id());
    let replaced = write_temporary(directory, &temporary, content, durability)
        .and_then(|()| Ok(rustix::fs::renameat(directory, &temporary, directory, name)?));
    if replaced.is_err() {
        let removed = rustix::fs::unlinkat(directory, &temporary, AtFlags::empty());
        ignore_error(removed, "the next write truncates a temporary file that stays");
        return replaced;
    }
    match durability {
        Durability::PowerCut => Ok(rustix::fs::fsync(directory)?),
        Durability::ProcessEnd => Ok(()),
    }
}

fn write_temporary(
    directory: impl AsFd,
    temporary: &str,
    content: &[u8],
    durability: Durability,
) -> Result<()> {
    // NONBLOCK: a FIFO that another process put there must not hang us.
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW;
    let flags = flags | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let mode = Mode::RUSR | Mode::WUSR;
    let mut file = File::from(rustix::fs::openat(directory, temporary, flags, mode)?);
    if !file.metadata()?.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "is not a regular file"));
    }
    file.write_all(content)?;
    match durability {
        Durability::PowerCut => file.sync_all(),
        Durability::ProcessEnd => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn names(folder: &std::path::Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn the_content_is_replaced_whole_and_nothing_else_stays() {
        let folder = tempfile::tempdir().unwrap();
        let directory = File::open(folder.path()).unwrap();
        for (content, durability) in
            [("long content", Durability::PowerCut), ("short", Durability::ProcessEnd)]
        {
            replace_small_file(&directory, "note", content.as_bytes(), durability).unwrap();
            let path = folder.path().join("note");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), content);
            assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        assert_eq!(names(folder.path()), ["note"]);
    }

    #[test]
    fn a_planted_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let directory = File::open(folder.path()).unwrap();
        std::fs::write(folder.path().join("victim"), "kept").unwrap();
        let temporary = format!(".note.{}.tmp", std::process::id());
        symlink("victim", folder.path().join(temporary)).unwrap();
        let write = || replace_small_file(&directory, "note", b"x", Durability::ProcessEnd);
        write().unwrap_err();
        assert_eq!(std::fs::read_to_string(folder.path().join("victim")).unwrap(), "kept");
        // The link is gone with the failed attempt.
        write().unwrap();
        assert_eq!(std::fs::read_to_string(folder.path().join("note")).unwrap(), "x");
    }
}
