//! The index of a workspace: what each file was when it was last looked at, kept between processes.
//!
//! Law: a row is written after the content it names, or with it. A row that is missing costs a
//! read; a row that is wrong would cost a file, so what its writer is not sure of is not here, and
//! a row that does not match its own hash is passed over.

use std::path::PathBuf;

use jm_types::{Digest, Hashing};
use rusqlite::{Transaction, params};

use crate::query::path_from;
use crate::{Store, StoreError};

/// One file as it was: how its directory entry describes it is its reader's affair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRow {
    /// Absolute.
    pub path: PathBuf,
    /// The directory entry, in words that only the index reads.
    pub stat: String,
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

impl Store {
    /// The stored index of a workspace.
    pub fn files(&self, root: &std::path::Path) -> Result<Vec<FileRow>, StoreError> {
        let connection = self.connection();
        let mut select = connection
            .prepare_cached("SELECT path, stat, sha256, hash FROM files WHERE root = ?1")?;
        let root = root.to_string_lossy();
        let mut rows = select.query([&root])?;
        let mut files = Vec::new();
        while let Some(row) = rows.next()? {
            let (path, stat, sha256): (Vec<u8>, String, String) =
                (row.get(0)?, row.get(1)?, row.get(2)?);
            let hash: Vec<u8> = row.get(3)?;
            let is_sound = row_hash(&root, &path, &stat, &sha256).as_bytes() == hash.as_slice();
            let Ok(sha256) = sha256.parse() else { continue };
            if !is_sound {
                continue;
            }
            files.push(FileRow { path: path_from(path), stat, sha256 });
        }
        Ok(files)
    }
}

/// The hash that a row is stored with.
pub(crate) fn row_hash(root: &str, path: &[u8], stat: &str, sha256: &str) -> Digest {
    let mut hashing = Hashing::default();
    // No root, stat or name of a content holds a NUL byte, and no path does.
    for part in [root.as_bytes(), path, stat.as_bytes(), sha256.as_bytes()] {
        hashing.update(part);
        hashing.update(&[0]);
    }
    hashing.finish()
}

pub(crate) fn write(step: &Transaction<'_>, change: &IndexUpdate) -> Result<(), StoreError> {
    let root = change.root.to_string_lossy();
    let mut put = step.prepare_cached(
        "INSERT INTO files (root, path, stat, sha256, hash) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (root, path) DO UPDATE SET stat = ?3, sha256 = ?4, hash = ?5",
    )?;
    for file in &change.seen {
        let path = file.path.as_os_str().as_encoded_bytes();
        let sha256 = file.sha256.to_string();
        let hash = row_hash(&root, path, &file.stat, &sha256);
        put.execute(params![root, path, file.stat, sha256, hash.as_bytes()])?;
    }
    let mut remove = step.prepare_cached("DELETE FROM files WHERE root = ?1 AND path = ?2")?;
    for path in &change.gone {
        remove.execute(params![root, path.as_os_str().as_encoded_bytes()])?;
    }
    Ok(())
}
