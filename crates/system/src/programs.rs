//! Programs of the person's, the system's and a project's, outside what tools may touch.
//!
//! Law: nothing here runs anything. What another user could have put there is named, so that the
//! caller can leave it alone; what is trusted is known by its bytes.

use std::fs::Metadata;
use std::io::{Error, ErrorKind, Read, Result};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use jm_types::Digest;
use rustix::fs::{Access, access};

use crate::folder::Descent;
use crate::state::open_without_waiting;
use crate::stream_hash::hash_reader;

/// Limits of a project's directory of programs that is trusted as a whole.
const MOST_FILES: usize = 1_000;
const MOST_BYTES: u64 = 512 * 1024 * 1024;
const DEEPEST: usize = 8;

/// A regular file, or a link to one, in a directory of programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramFile {
    /// The path in the directory, not what a link leads to.
    pub path: PathBuf,
    /// The name in the directory; not UTF-8 is shown as far as it can be.
    pub name: String,
    /// True if this user may run it (`access(2)`).
    pub is_executable: bool,
    /// Its bytes are elsewhere.
    pub is_link: bool,
    /// The reason why others than the person and the system could have written it.
    pub foreign: Option<&'static str>,
    /// The stamp by which a later change is noticed without reading the file.
    pub stamp: FileStamp,
}

/// Inode, size and time of change (ctime): another stamp after a file was written or replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileStamp {
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

impl FileStamp {
    fn of(metadata: &Metadata) -> Self {
        let changed = (metadata.ctime(), metadata.ctime_nsec());
        Self { inode: metadata.ino(), size: metadata.size(), changed }
    }
}

/// The files of a directory, sorted by name; directories, devices and hidden files are none. A
/// directory that does not exist is empty.
pub fn list_programs(directory: &Path) -> Result<Vec<ProgramFile>> {
    let entries = match std::fs::read_dir(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let is_open = std::fs::metadata(directory).is_ok_and(|found| foreign(&found).is_some());
    let by_directory = is_open.then_some("others can change its directory");
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        // What vanished meanwhile, or is a link to nowhere, is no file.
        let Ok(metadata) = std::fs::metadata(&path) else { continue };
        if !metadata.is_file() || name.starts_with('.') {
            continue;
        }
        files.push(ProgramFile {
            is_executable: access(&path, Access::EXEC_OK).is_ok(),
            is_link: entry.file_type()?.is_symlink(),
            foreign: foreign(&metadata).or(by_directory),
            stamp: FileStamp::of(&metadata),
            path,
            name,
        });
    }
    files.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(files)
}

fn foreign(metadata: &Metadata) -> Option<&'static str> {
    let own = rustix::process::geteuid().as_raw();
    match (metadata.uid(), metadata.mode() & 0o002) {
        (uid, _) if uid != own && uid != 0 => Some("it belongs to another user"),
        (_, 0) => None,
        _ => Some("anybody can change it"),
    }
}

/// The digest of a regular file's bytes; `None` when it has more than `most`.
pub fn digest_program(path: &Path, most: u64) -> Result<Option<Digest>> {
    let mut file = open_without_waiting(path)?.take(most + 1);
    let digest = hash_reader(&mut file)?;
    Ok((file.limit() > 0).then_some(digest))
}

/// Every file beneath a directory with what it holds, sorted: all that trust in it is bound to. A
/// link counts as the text it is. Empty when there is no such directory.
pub fn tree_digests(directory: &Path) -> Result<Vec<(PathBuf, Digest)>> {
    let mut found = Vec::new();
    let mut bytes = 0;
    let metadata = match std::fs::symlink_metadata(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(found),
        metadata => metadata?,
    };
    if !metadata.is_dir() {
        return Err(Error::new(ErrorKind::InvalidInput, "is not a directory"));
    }
    let mut descent = Descent::below(directory);
    while let Some(entry) = descent.next() {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        if kind.is_dir() && descent.level() < DEEPEST {
            descent.enter(&entry);
            continue;
        }
        let digest = if kind.is_symlink() {
            Digest::of(std::fs::read_link(&path)?.as_os_str().as_encoded_bytes())
        } else {
            bytes += entry.metadata()?.len();
            let kept = if bytes <= MOST_BYTES { digest_program(&path, MOST_BYTES)? } else { None };
            kept.ok_or_else(|| too_large(directory))?
        };
        if found.len() == MOST_FILES {
            return Err(too_large(directory));
        }
        found.push((path.strip_prefix(directory).unwrap_or(&path).to_owned(), digest));
    }
    found.sort();
    Ok(found)
}

fn too_large(directory: &Path) -> Error {
    let text = format!(
        "{} holds more than {MOST_FILES} files or {} MiB",
        directory.display(),
        MOST_BYTES / 1024 / 1024
    );
    Error::new(ErrorKind::InvalidInput, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{Permissions, set_permissions, write};
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn put(folder: &Path, name: &str, mode: u32) {
        write(folder.join(name), name).unwrap();
        set_permissions(folder.join(name), Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_listing_says_how_each_file_stands() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("tools");
        std::fs::create_dir_all(folder.join("directory-tool")).unwrap();
        assert_eq!(list_programs(&folder.join("none")).unwrap(), []);
        put(&folder, "good", 0o755);
        put(&folder, "readme", 0o644);
        put(&folder, "open", 0o777);
        put(&folder, ".hidden", 0o755);
        symlink(folder.join("good"), folder.join("link")).unwrap();
        symlink(folder.join("nowhere"), folder.join("dangling")).unwrap();
        let found = list_programs(&folder).unwrap();
        let facts = |f: &ProgramFile| (f.name.clone(), f.is_executable, f.is_link, f.foreign);
        let expected = [
            ("good".to_owned(), true, false, None),
            ("link".to_owned(), true, true, None),
            ("open".to_owned(), true, false, Some("anybody can change it")),
            ("readme".to_owned(), false, false, None),
        ];
        assert_eq!(found.iter().map(facts).collect::<Vec<_>>(), expected);
        set_permissions(&folder, Permissions::from_mode(0o777)).unwrap();
        let good = list_programs(&folder).unwrap().swap_remove(0);
        assert_eq!(good.foreign, Some("others can change its directory"));
    }

    #[test]
    fn contents_change_with_any_file_beneath() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("tools");
        assert_eq!(tree_digests(&folder).unwrap(), []);
        std::fs::create_dir_all(folder.join("lib")).unwrap();
        put(&folder, "one", 0o755);
        put(&folder.join("lib"), "two", 0o644);
        symlink("one", folder.join("three")).unwrap();
        let before = tree_digests(&folder).unwrap();
        let names: Vec<_> = before.iter().map(|(path, _)| path.display().to_string()).collect();
        assert_eq!(names, ["lib/two", "one", "three"]);
        write(folder.join("lib/two"), "other").unwrap();
        assert_ne!(tree_digests(&folder).unwrap(), before);
        assert!(tree_digests(&folder.join("one")).is_err());
    }

    #[test]
    fn a_digest_is_of_all_bytes_or_of_none() {
        let scratch = tempfile::tempdir().unwrap();
        put(scratch.path(), "file", 0o644);
        let path = scratch.path().join("file");
        assert_eq!(digest_program(&path, 4).unwrap(), Some(Digest::of(b"file")));
        assert_eq!(digest_program(&path, 3).unwrap(), None);
        assert!(digest_program(scratch.path(), 3).is_err());
    }
}
