//! Whole outputs: what a call said beyond what the model was given.
//!
//! Law: together they stay within a quota; the oldest go first, and what went is known to have
//! gone. They are never needed to put a file back.

use std::io::Read;

use jm_types::{CallKey, Digest};
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use crate::blobs::{self, BlobStats};
use crate::index_content::IndexedContents;
use crate::journal::Journal;
use crate::output_records::{StoredOutput, StoredPart, StoredStream};
use crate::{Store, StoreError};

/// One part on its way into the store.
pub struct Incoming<'a> {
    /// The hash of the bytes, computed before.
    pub sha256: Digest,
    /// The bytes, read once.
    pub content: Box<dyn Read + 'a>,
}

impl std::fmt::Debug for Incoming<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Incoming").field("sha256", &self.sha256).finish_non_exhaustive()
    }
}

impl Journal {
    /// Keeps the parts of a call's output, all or none, a piece at a time. Beyond `most` bytes of
    /// all outputs, as they are stored, the oldest of other calls go.
    pub fn keep_output(
        &self,
        call: &CallKey,
        parts: Vec<Incoming<'_>>,
        most: u64,
    ) -> Result<(), StoreError> {
        self.store().write(|step| {
            self.check_lease(step)?;
            let now = self.now();
            for mut part in parts {
                blobs::put_stream(step, part.sha256, &mut part.content, now)?;
                step.prepare_cached(
                    "INSERT OR REPLACE INTO outputs (call, sha256, added) VALUES (?1, ?2, ?3)",
                )?
                .execute(params![call.as_str(), part.sha256.to_string(), now])?;
            }
            let mut indexed = IndexedContents::default();
            while stored(step)? > most {
                let Some(released) = release_oldest(step, call, now, &mut indexed)? else { break };
                for (name, _) in released {
                    blobs::remove_pieces(step, &name, usize::MAX)?;
                }
            }
            Ok(())
        })
    }
}

/// The bytes that all outputs take.
fn stored(connection: &Connection) -> Result<u64, StoreError> {
    let sum =
        "SELECT coalesce(sum(stored), 0) FROM blobs WHERE sha256 IN (SELECT sha256 FROM outputs)";
    let stored: i64 = connection.query_row(sum, [], |row| row.get(0))?;
    Ok(stored.unsigned_abs())
}

/// Lets the oldest output go, but not that of `spared`: the contents that went with it, and what their
/// pieces take; `None` when there is no such output.
pub(crate) fn release_oldest(
    step: &Transaction<'_>,
    spared: &str,
    now: i64,
    indexed: &mut IndexedContents,
) -> Result<Option<Vec<(String, u64)>>, StoreError> {
    let oldest = "SELECT call FROM outputs WHERE call <> ?1 ORDER BY added, call LIMIT 1";
    let oldest = step.query_row(oldest, [spared], |row| row.get(0)).optional()?;
    let Some(call): Option<String> = oldest else { return Ok(None) };
    let names: Vec<String> = {
        let mut select = step.prepare_cached("SELECT sha256 FROM outputs WHERE call = ?1")?;
        let names = select.query_map([&call], |row| row.get(0))?;
        names.collect::<Result<_, _>>()?
    };
    step.execute("DELETE FROM outputs WHERE call = ?1", [&call])?;
    let mut released = Vec::new();
    for name in names {
        // A file of a workspace may have the same content.
        if indexed.hold(step, &name)? {
            continue;
        }
        let stored = blobs::release_unused(step, &name, now)?;
        released.extend(stored.map(|stored| (name, stored)));
    }
    Ok(Some(released))
}

impl Store {
    /// The output of a call, if it was kept apart from its result.
    pub fn output(&self, call: &CallKey) -> Result<Option<StoredOutput>, StoreError> {
        Ok(self.result(call)?.and_then(|result| result.output))
    }

    /// Hands over bytes `start..end` of a stream, some at a time, and returns the ranges within it
    /// that are not kept.
    pub fn read_output<E: From<StoreError>>(
        &self,
        stream: &StoredStream,
        start: u64,
        end: u64,
        mut take: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<Vec<(u64, u64)>, E> {
        let (mut at, end) = (start, end.min(stream.total));
        let mut missing = Vec::new();
        for part in &stream.parts {
            let (from, to) = (part.start.max(at), (part.start + part.size).min(end));
            if from >= to {
                continue;
            }
            if at < from {
                missing.push((at, from));
            }
            if self.blob_size(part.sha256)?.is_none() {
                missing.push((from, to));
            } else {
                self.read_part(part, from, to, &mut take)?;
            }
            at = to;
        }
        if at < end {
            missing.push((at, end));
        }
        Ok(missing)
    }

    fn read_part<E: From<StoreError>>(
        &self,
        part: &StoredPart,
        mut from: u64,
        to: u64,
        take: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        while from < to {
            let piece = (to - from).min(blobs::CHUNK as u64);
            let within = from - part.start;
            take(&self.blob_range(part.sha256, within, within + piece)?)?;
            from += piece;
        }
        Ok(())
    }

    /// Counts the kept outputs and their bytes.
    pub fn output_stats(&self) -> Result<BlobStats, StoreError> {
        blobs::stats(&self.connection(), "WHERE sha256 IN (SELECT sha256 FROM outputs)")
    }
}
