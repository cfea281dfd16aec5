//! The index of a workspace: what each file was when it was last looked at, kept between processes. A row
//! is a directory, or a part of a large one.
//!
//! Law: a file is written here after the content that it names, or with it. A row that is missing costs
//! reads; one that is wrong would cost a file, so what its writer is not sure of is not here, and a row
//! that does not match its own hash is passed over.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use jm_types::Digest;
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use crate::folder_row::{FileEntry, FolderRow};
use crate::query::path_from;
use crate::{Store, StoreError};

/// One file as it was: how its directory entry describes it is its reader's affair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRow {
    /// Absolute.
    pub path: PathBuf,
    /// The directory entry, in at most 255 bytes that only the index reads.
    pub stat: Vec<u8>,
    /// The hash of the content.
    pub sha256: Digest,
}

/// A change of the stored index of one workspace.
#[derive(Debug, Clone, Default)]
pub struct IndexUpdate {
    /// The workspace that the index is of.
    pub root: PathBuf,
    /// Files that are new or changed.
    pub seen: Vec<FileRow>,
    /// Files that are not there any more.
    pub gone: Vec<PathBuf>,
}

/// One file of a stored index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredFile<'a> {
    /// Its directory, relative to the workspace.
    pub folder: &'a [u8],
    /// Its name in there.
    pub name: &'a [u8],
    /// The directory entry, as it was written.
    pub stat: &'a [u8],
    /// The hash of the content.
    pub sha256: Digest,
}

impl Store {
    /// Hands over the stored index of a workspace, ascending by directory and name.
    pub fn each_file(
        &self,
        root: &Path,
        mut each: impl FnMut(StoredFile<'_>),
    ) -> Result<(), StoreError> {
        let connection = self.connection();
        let mut select = connection.prepare_cached(
            "SELECT root, folder, first, contents, entries, hash FROM folders
             WHERE root = ?1 ORDER BY folder, first",
        )?;
        let mut rows = select.query([root.to_string_lossy()])?;
        while let Some(row) = rows.next()? {
            let part = FolderRow::read(row)?;
            let files = part.as_ref().and_then(FolderRow::files).unwrap_or_default();
            for FileEntry { name, stat, sha256 } in files {
                let folder = part.as_ref().map_or(&[][..], |part| &part.folder);
                each(StoredFile { folder, name, stat, sha256 });
            }
        }
        Ok(())
    }
}

/// The files of one directory that change, by name; `None` for one that is gone.
type FolderChange<'a> = BTreeMap<&'a [u8], Option<(&'a [u8], Digest)>>;

pub(crate) fn write(step: &Transaction<'_>, change: &IndexUpdate) -> Result<(), StoreError> {
    let mut folders: BTreeMap<&[u8], FolderChange<'_>> = BTreeMap::new();
    let gone = change.gone.iter().map(|path| (path, None));
    let seen = change.seen.iter().map(|file| {
        let stat = file.stat.as_slice();
        (&file.path, Some((stat, file.sha256)))
    });
    for (path, file) in gone.chain(seen) {
        let relative = path.strip_prefix(&change.root).ok();
        let Some((folder, name)) = relative.and_then(|path| path.parent().zip(path.file_name()))
        else {
            continue;
        };
        let folder = folders.entry(folder.as_os_str().as_bytes()).or_default();
        folder.insert(name.as_bytes(), file);
    }
    let root = change.root.to_string_lossy();
    folders.into_iter().try_for_each(|(folder, names)| write_folder(step, &root, folder, names))
}

fn write_folder(
    step: &Transaction<'_>,
    root: &str,
    folder: &[u8],
    names: FolderChange<'_>,
) -> Result<(), StoreError> {
    let mut names = names.into_iter().peekable();
    while let Some((name, _)) = names.peek() {
        let (id, part) = part_around(step, root, folder, name)?;
        let until = next_part(step, &part)?;
        let mut files = BTreeMap::new();
        for FileEntry { name, stat, sha256 } in part.files().unwrap_or_default() {
            files.insert(name, (stat, sha256));
        }
        let mut is_changed = false;
        let is_here = |name: &&[u8]| until.as_deref().is_none_or(|until| *name < until);
        while let Some((name, file)) = names.next_if(|(name, _)| is_here(name)) {
            let before = match file {
                Some(file) => files.insert(name, file),
                None => files.remove(name),
            };
            is_changed |= before != file;
        }
        if is_changed {
            let files = files.into_iter();
            let files = files.map(|(name, (stat, sha256))| FileEntry { name, stat, sha256 });
            replace(step, id, &part, &files.collect::<Vec<_>>())?;
        }
    }
    Ok(())
}

/// The part of a directory to which a name belongs; without an id where there is none yet.
fn part_around(
    step: &Transaction<'_>,
    root: &str,
    folder: &[u8],
    name: &[u8],
) -> Result<(Option<i64>, FolderRow), StoreError> {
    let mut select = step.prepare_cached(
        "SELECT root, folder, first, contents, entries, hash, id FROM folders
         WHERE root = ?1 AND folder = ?2 AND first <= ?3 ORDER BY first DESC LIMIT 1",
    )?;
    let found = select
        .query_row(params![root, folder, name], |row| {
            Ok((Some(row.get::<_, i64>(6)?), FolderRow::read(row)?, row.get::<_, Vec<u8>>(2)?))
        })
        .optional()?;
    let (id, part, first) = found.unwrap_or_default();
    // A damaged part begins anew.
    Ok((id, part.unwrap_or_else(|| FolderRow::empty(root, folder, first))))
}

/// The first name of the part that comes after this one.
fn next_part(step: &Transaction<'_>, part: &FolderRow) -> Result<Option<Vec<u8>>, StoreError> {
    let mut select = step.prepare_cached(
        "SELECT min(first) FROM folders WHERE root = ?1 AND folder = ?2 AND first > ?3",
    )?;
    select
        .query_row(params![part.root, part.folder, part.first], |row| row.get(0))
        .map_err(Into::into)
}

/// Writes the files of a part, which may have become several, or none.
pub(crate) fn replace(
    step: &Transaction<'_>,
    id: Option<i64>,
    part: &FolderRow,
    files: &[FileEntry<'_>],
) -> Result<(), StoreError> {
    step.prepare_cached("DELETE FROM folders WHERE id = ?1")?.execute([id])?;
    let mut insert = step.prepare_cached(
        "INSERT INTO folders (root, folder, first, contents, entries, hash)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    for part in part.holding(files) {
        let hash = part.hash();
        let FolderRow { root, folder, first, contents, entries } = part;
        insert.execute(params![root, folder, first, contents, entries, hash.as_bytes()])?;
    }
    Ok(())
}

/// The directory of each row that does not match its own hash.
pub(crate) fn damaged(connection: &Connection) -> Result<Vec<PathBuf>, StoreError> {
    let mut select =
        connection.prepare("SELECT root, folder, first, contents, entries, hash FROM folders")?;
    let mut rows = select.query([])?;
    let mut damaged = Vec::new();
    while let Some(row) = rows.next()? {
        let is_sound = FolderRow::read(row)?.is_some_and(|part| part.files().is_some());
        if !is_sound {
            let (root, folder): (String, Vec<u8>) = (row.get(0)?, row.get(1)?);
            // Without the slash that joining an empty path leaves.
            damaged.push(Path::new(&root).join(path_from(folder)).components().collect());
        }
    }
    Ok(damaged)
}
