//! Contents, kept once each under their hash: before-images, long outputs.
//!
//! Law: content is stored in the same transaction as the record that names it. It is compressed in
//! pieces, so that a range of a large one can be read alone.

use jm_types::Digest;
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use crate::journal;
use crate::{Store, StoreError};

const CHUNK: usize = 1024 * 1024;
const LEVEL: i32 = 3;

/// What the store holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlobStats {
    pub count: u64,
    /// As they were.
    pub bytes: u64,
    /// As they are kept.
    pub stored: u64,
}

/// What a collection freed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Collected {
    pub blobs: u64,
    pub stored: u64,
}

pub(crate) fn put(
    step: &Transaction<'_>,
    session: &str,
    bytes: &[u8],
    now: i64,
) -> Result<Digest, StoreError> {
    let sha256 = Digest::of(bytes);
    let name = sha256.to_string();
    step.prepare_cached("INSERT OR IGNORE INTO uses (sha256, session) VALUES (?1, ?2)")?
        .execute(params![name, session])?;
    let known: Option<i64> = step
        .prepare_cached("SELECT 1 FROM blobs WHERE sha256 = ?1")?
        .query_row([&name], |row| row.get(0))
        .optional()?;
    if known.is_some() {
        return Ok(sha256);
    }
    let mut stored = 0;
    for (index, piece) in bytes.chunks(CHUNK).enumerate() {
        let packed = zstd::bulk::compress(piece, LEVEL)?;
        stored += packed.len();
        step.prepare_cached("INSERT INTO chunks (sha256, start, data) VALUES (?1, ?2, ?3)")?
            .execute(params![name, as_i64(index * CHUNK), packed])?;
    }
    step.prepare_cached("INSERT INTO blobs (sha256, size, stored, added) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![name, as_i64(bytes.len()), as_i64(stored), now])?;
    Ok(sha256)
}

impl Store {
    /// A whole content, checked against its name.
    pub fn blob(&self, sha256: Digest) -> Result<Vec<u8>, StoreError> {
        let bytes = self.blob_range(sha256, 0, u64::MAX)?;
        match Digest::of(&bytes) == sha256 {
            true => Ok(bytes),
            false => Err(StoreError::Missing(sha256)),
        }
    }

    /// Bytes `start..end` of a content, as far as it goes.
    pub fn blob_range(&self, sha256: Digest, start: u64, end: u64) -> Result<Vec<u8>, StoreError> {
        let connection = self.connection();
        let size = size(&connection, sha256)?.ok_or(StoreError::Missing(sha256))?;
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

    pub fn blob_size(&self, sha256: Digest) -> Result<Option<u64>, StoreError> {
        size(&self.connection(), sha256)
    }

    pub fn blob_stats(&self) -> Result<BlobStats, StoreError> {
        let connection = self.connection();
        let sums = "SELECT count(*), coalesce(sum(size), 0), coalesce(sum(stored), 0) FROM blobs";
        let row = |row: &rusqlite::Row<'_>| {
            let number = |index| row.get::<_, i64>(index).map(i64::unsigned_abs);
            Ok(BlobStats { count: number(0)?, bytes: number(1)?, stored: number(2)? })
        };
        connection.query_row(sums, [], row).map_err(Into::into)
    }

    /// Removes contents that no session uses, and the space they took.
    pub fn collect(&self) -> Result<Collected, StoreError> {
        let mut connection = self.connection();
        let step = connection.transaction()?;
        let unused = "sha256 NOT IN (SELECT sha256 FROM uses)
                      AND sha256 NOT IN (SELECT sha256 FROM files)";
        let freed = step.query_row(
            &format!("SELECT count(*), coalesce(sum(stored), 0) FROM blobs WHERE {unused}"),
            [],
            |row| {
                let number = |index| row.get::<_, i64>(index).map(i64::unsigned_abs);
                Ok(Collected { blobs: number(0)?, stored: number(1)? })
            },
        )?;
        step.execute(&format!("DELETE FROM chunks WHERE {unused}"), [])?;
        step.execute(&format!("DELETE FROM blobs WHERE {unused}"), [])?;
        step.commit()?;
        if freed.blobs > 0 {
            connection.execute_batch("VACUUM")?;
        }
        // The log's space too; readers that still need it keep it.
        journal::fold(&connection)?;
        Ok(freed)
    }
}

fn size(connection: &Connection, sha256: Digest) -> Result<Option<u64>, StoreError> {
    let mut select = connection.prepare_cached("SELECT size FROM blobs WHERE sha256 = ?1")?;
    let size: Option<i64> = select.query_row([sha256.to_string()], |row| row.get(0)).optional()?;
    Ok(size.map(i64::unsigned_abs))
}

fn as_i64(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
