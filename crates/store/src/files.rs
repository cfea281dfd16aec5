//! The index of a workspace: what each file was when it was last looked at, kept between processes.
//!
//! Law: a row is written after the content it names, or with it. A row that is missing costs a
//! read; a row that is wrong would cost a file, so what its writer is not sure of is not here.

use std::path::PathBuf;

use jm_types::Digest;
use rusqlite::{Transaction, params};

use crate::query::path_from;
use crate::{Store, StoreError};

/// One file as it was: how its directory entry describes it is its reader's affair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRow {
    pub path: PathBuf,
    pub stat: String,
    pub sha256: Digest,
}

/// What becomes of an index.
#[derive(Debug, Clone, Default)]
pub struct IndexChange {
    pub root: PathBuf,
    pub seen: Vec<FileRow>,
    pub gone: Vec<PathBuf>,
}

impl Store {
    pub fn files(&self, root: &std::path::Path) -> Result<Vec<FileRow>, StoreError> {
        let connection = self.connection();
        let mut select =
            connection.prepare_cached("SELECT path, stat, sha256 FROM files WHERE root = ?1")?;
        let mut rows = select.query([root.to_string_lossy()])?;
        let mut files = Vec::new();
        while let Some(row) = rows.next()? {
            let (path, stat, sha256): (Vec<u8>, String, String) =
                (row.get(0)?, row.get(1)?, row.get(2)?);
            let Ok(sha256) = sha256.parse() else { continue };
            files.push(FileRow { path: path_from(path), stat, sha256 });
        }
        Ok(files)
    }
}

pub(crate) fn write(step: &Transaction<'_>, change: &IndexChange) -> Result<(), StoreError> {
    let root = change.root.to_string_lossy();
    let mut put = step.prepare_cached(
        "INSERT INTO files (root, path, stat, sha256) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (root, path) DO UPDATE SET stat = ?3, sha256 = ?4",
    )?;
    for file in &change.seen {
        let path = file.path.as_os_str().as_encoded_bytes();
        put.execute(params![root, path, file.stat, file.sha256.to_string()])?;
    }
    let mut remove = step.prepare_cached("DELETE FROM files WHERE root = ?1 AND path = ?2")?;
    for path in &change.gone {
        remove.execute(params![root, path.as_os_str().as_encoded_bytes()])?;
    }
    Ok(())
}
