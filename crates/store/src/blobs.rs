//! Contents, kept once each under their hash: before-images, long outputs.
//!
//! Law: content is stored in the same transaction as the record that names it. It is compressed in
//! pieces, so that a range of a large one can be read alone.

use std::io::Read;

use jm_types::{Digest, Hashing, SessionId};
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use crate::{Store, StoreError};

pub(crate) const CHUNK: usize = 1024 * 1024;
const LEVEL: i32 = 3;

/// The number of contents in the store, and the bytes they take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlobStats {
    /// Contents, each counted once.
    pub count: u64,
    /// As they were.
    pub bytes: u64,
    /// As they are kept.
    pub stored: u64,
}

pub(crate) fn put(
    step: &Transaction<'_>,
    session: &SessionId,
    bytes: &[u8],
    now: i64,
) -> Result<Digest, StoreError> {
    let sha256 = Digest::of(bytes);
    use_for(step, session, sha256)?;
    put_stream(step, sha256, &mut &*bytes, now)?;
    Ok(sha256)
}

/// The session needs this content.
pub(crate) fn use_for(
    step: &Transaction<'_>,
    session: &SessionId,
    sha256: Digest,
) -> Result<(), StoreError> {
    step.prepare_cached("INSERT OR IGNORE INTO uses (sha256, session) VALUES (?1, ?2)")?
        .execute(params![sha256.to_string(), session.as_str()])?;
    Ok(())
}

/// Keeps a content that is read a piece at a time, and is what its name says.
pub(crate) fn put_stream(
    step: &Transaction<'_>,
    sha256: Digest,
    content: &mut dyn Read,
    now: i64,
) -> Result<(), StoreError> {
    if size(step, sha256)?.is_some() {
        return Ok(());
    }
    let name = sha256.to_string();
    let (mut start, mut stored) = (0, 0);
    let mut hashing = Hashing::default();
    loop {
        let mut piece = Vec::new();
        (&mut *content).take(CHUNK as u64).read_to_end(&mut piece)?;
        if piece.is_empty() {
            break;
        }
        hashing.update(&piece);
        let packed = zstd::bulk::compress(&piece, LEVEL)?;
        // Pieces of a content that was let go may still wait for their removal.
        let insert = "INSERT OR REPLACE INTO chunks (sha256, start, data) VALUES (?1, ?2, ?3)";
        step.prepare_cached(insert)?.execute(params![name, as_i64(start), packed])?;
        stored += packed.len();
        start += piece.len();
    }
    if hashing.finish() != sha256 {
        return Err(StoreError::Missing(sha256));
    }
    step.prepare_cached("INSERT INTO blobs (sha256, size, stored, added) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![name, as_i64(start), as_i64(stored), now])?;
    step.prepare_cached("DELETE FROM released WHERE sha256 = ?1")?.execute([&name])?;
    Ok(())
}

/// SQL condition for contents that no session and no output uses. An index of a workspace may
/// (`IndexedContents`).
pub(crate) const UNUSED: &str = "sha256 NOT IN (SELECT sha256 FROM uses)
    AND sha256 NOT IN (SELECT sha256 FROM outputs)";

/// Forgets a content if no session and no output needs it any more, and remembers that it was there. Returns
/// the bytes that its pieces take; they stay until `remove_pieces`. Indexes are the caller's affair.
pub(crate) fn release_unused(
    step: &Transaction<'_>,
    name: &str,
    now: i64,
) -> Result<Option<u64>, StoreError> {
    let delete = format!("DELETE FROM blobs WHERE sha256 = ?1 AND {UNUSED} RETURNING stored");
    let stored: Option<i64> =
        step.prepare_cached(&delete)?.query_row([name], |row| row.get(0)).optional()?;
    if stored.is_some() {
        step.prepare_cached("INSERT OR REPLACE INTO released VALUES (?1, ?2)")?
            .execute(params![name, now])?;
    }
    Ok(stored.map(i64::unsigned_abs))
}

/// Removes at most `most` pieces of a content that is not kept any more; how many went.
pub(crate) fn remove_pieces(
    step: &Transaction<'_>,
    name: &str,
    most: usize,
) -> Result<usize, StoreError> {
    let delete = "DELETE FROM chunks WHERE rowid IN
         (SELECT rowid FROM chunks WHERE sha256 = ?1 LIMIT ?2)
         AND sha256 NOT IN (SELECT sha256 FROM blobs WHERE sha256 = ?1)";
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    step.prepare_cached(delete)?.execute(params![name, most]).map_err(Into::into)
}

pub(crate) fn stats(connection: &Connection, which: &str) -> Result<BlobStats, StoreError> {
    let sums = format!(
        "SELECT count(*), coalesce(sum(size), 0), coalesce(sum(stored), 0) FROM blobs {which}"
    );
    let row = |row: &rusqlite::Row<'_>| {
        let number = |index| row.get::<_, i64>(index).map(i64::unsigned_abs);
        Ok(BlobStats { count: number(0)?, bytes: number(1)?, stored: number(2)? })
    };
    connection.query_row(&sums, [], row).map_err(Into::into)
}

impl Store {
    /// A whole content, checked against its name.
    pub fn blob(&self, sha256: Digest) -> Result<Vec<u8>, StoreError> {
        let bytes = self.blob_range(sha256, 0, u64::MAX)?;
        if Digest::of(&bytes) == sha256 { Ok(bytes) } else { Err(StoreError::Missing(sha256)) }
    }

    /// Bytes `start..end` of a content, as far as it goes.
    pub fn blob_range(&self, sha256: Digest, start: u64, end: u64) -> Result<Vec<u8>, StoreError> {
        let connection = self.connection();
        let size = match size(&connection, sha256)? {
            Some(size) => size,
            None if is_released(&connection, sha256)? => return Err(StoreError::Released(sha256)),
            None => return Err(StoreError::Missing(sha256)),
        };
        let (start, end) = (start.min(size), end.min(size));
        let first = start / CHUNK as u64 * CHUNK as u64;
        let mut select = connection.prepare_cached(
            "SELECT start, data FROM chunks WHERE sha256 = ?1 AND start >= ?2 AND start < ?3
             ORDER BY start",
        )?;
        let mut bytes = Vec::new();
        let mut rows = select.query(params![
            sha256.to_string(),
            i64::try_from(first).unwrap_or(i64::MAX),
            i64::try_from(end).unwrap_or(i64::MAX)
        ])?;
        while let Some(row) = rows.next()? {
            let packed: Vec<u8> = row.get(1)?;
            bytes.extend(zstd::bulk::decompress(&packed, CHUNK)?);
        }
        let skip = usize::try_from(start - first).unwrap_or(usize::MAX).min(bytes.len());
        bytes.drain(..skip);
        bytes.truncate(usize::try_from(end - start).unwrap_or(usize::MAX));
        Ok(bytes)
    }

    /// The size of a content before compression; `None` where it is not stored.
    pub fn blob_size(&self, sha256: Digest) -> Result<Option<u64>, StoreError> {
        size(&self.connection(), sha256)
    }

    /// Counts the contents and their bytes.
    pub fn blob_stats(&self) -> Result<BlobStats, StoreError> {
        stats(&self.connection(), "")
    }
}

pub(crate) fn is_released(connection: &Connection, sha256: Digest) -> Result<bool, StoreError> {
    let mut select = connection.prepare_cached("SELECT 1 FROM released WHERE sha256 = ?1")?;
    select.exists([sha256.to_string()]).map_err(Into::into)
}

fn size(connection: &Connection, sha256: Digest) -> Result<Option<u64>, StoreError> {
    let mut select = connection.prepare_cached("SELECT size FROM blobs WHERE sha256 = ?1")?;
    let size: Option<i64> = select.query_row([sha256.to_string()], |row| row.get(0)).optional()?;
    Ok(size.map(i64::unsigned_abs))
}

fn as_i64(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
