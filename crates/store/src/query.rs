//! Looking things up: sessions, calls, effects.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;

use jm_types::{BatchNumber, CallKey, Freshness, ReadRecord, SessionId};
use rusqlite::{OptionalExtension, Row, params};

use crate::identity::Owner;
use crate::layer_records::LayerRecord;
use crate::record::{CallRecord, Concurrent, FileEffect, Record, StoredResult};
use crate::{Store, StoreError};

/// A session as the journal's table has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionView {
    /// Its id.
    pub session: SessionId,
    /// Milliseconds since the epoch at which it began.
    pub opened: u64,
    /// The workspace that it works in.
    pub root: PathBuf,
    /// The process that holds the lease; `None` for a session that is closed.
    pub owner: Option<Owner>,
    /// The number of its records.
    pub records: u64,
    /// Milliseconds since the epoch of the last record.
    pub last: Option<u64>,
}

/// All that the journal knows of one call.
#[derive(Debug, Clone)]
pub struct CallView {
    /// The batch that it belongs to.
    pub batch: BatchNumber,
    /// The call as it came.
    pub call: CallRecord,
    /// The record that opened its batch, and when.
    pub seq: i64,
    /// Milliseconds since the epoch of the batch's record.
    pub at: u64,
    /// The records about it, in order, with their times.
    pub records: Vec<(u64, Record)>,
}

/// A command that ran again changed what it had changed: from what was there before both, to what
/// is there after both.
fn follow(files: &mut Vec<FileEffect>, later: &[FileEffect]) {
    let known = files.iter().enumerate().map(|(at, effect)| (effect.path.clone(), at));
    let places: HashMap<PathBuf, usize> = known.collect();
    for next in later {
        match places.get(&next.path) {
            Some(at) => files[*at].after = next.after,
            None => files.push(next.clone()),
        }
    }
}

/// The changes of one call that are in force.
#[derive(Debug, Clone)]
pub struct EffectView {
    /// The key of the call.
    pub call: CallKey,
    /// One effect for each path.
    pub files: Vec<FileEffect>,
    /// The reason why there may be more changes than these.
    pub gap: Option<String>,
    /// Changes that cannot be told apart from those of other sessions' commands.
    pub concurrent: Vec<Concurrent>,
    /// Layers that were kept, or taken back, in this order.
    pub layers: Vec<LayerRecord>,
}

impl CallView {
    /// The last result with its duration in milliseconds.
    pub fn result(&self) -> Option<(&StoredResult, u64)> {
        self.records.iter().rev().find_map(|(_, record)| match record {
            Record::Finished { result, duration_ms, .. } => Some((result, *duration_ms)),
            _ => None,
        })
    }

    /// The call's intent, in a line; otherwise its tool's name.
    pub fn summary(&self) -> &str {
        let told = self.records.iter().find_map(|(_, record)| match record {
            Record::Planned { summary, .. } if !summary.is_empty() => Some(summary.as_str()),
            _ => None,
        });
        told.unwrap_or(&self.call.name)
    }

    /// The process of the last start; `None` for a call that never ran.
    pub fn started(&self) -> Option<&Owner> {
        self.records.iter().rev().find_map(|(_, record)| match record {
            Record::Started { process, .. } => Some(process),
            _ => None,
        })
    }

    /// The files that it changed, or was about to change: one effect for each path.
    pub fn effects(&self) -> EffectView {
        let mut files: Vec<FileEffect> = Vec::new();
        let mut layers: Vec<LayerRecord> = Vec::new();
        // The lengths before each thing that was prepared.
        let mut prepared_at = Vec::new();
        let (mut gap, mut concurrent) = (None, Vec::new());
        for (_, record) in &self.records {
            match record {
                Record::Prepared { files: prepared, .. } => {
                    prepared_at.push((files.len(), layers.len()));
                    files.extend(prepared.iter().cloned());
                }
                Record::Layered { layer, .. } => {
                    prepared_at.push((files.len(), layers.len()));
                    layers.push(layer.clone());
                }
                Record::Withdrawn { .. } => {
                    let (left, left_layers) = prepared_at.pop().unwrap_or_default();
                    files.truncate(left);
                    layers.truncate(left_layers);
                }
                Record::Tracked { tracking, .. } => {
                    follow(&mut files, &tracking.files);
                    gap = tracking.gap.clone().or(gap);
                    concurrent.extend(tracking.concurrent.clone());
                }
                _ => {}
            }
        }
        EffectView { call: self.call.call.clone(), files: composed(files), gap, concurrent, layers }
    }
}

fn composed(effects: Vec<FileEffect>) -> Vec<FileEffect> {
    let mut all: Vec<FileEffect> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for effect in effects {
        match places.get(&effect.path) {
            Some(place) => {
                let earlier: &mut FileEffect = &mut all[*place];
                earlier.join(effect);
            }
            None => {
                places.insert(effect.path.clone(), all.len());
                all.push(effect);
            }
        }
    }
    all
}

impl Store {
    /// Newest first.
    pub fn sessions(&self) -> Result<Vec<SessionView>, StoreError> {
        let connection = self.connection();
        let mut select = connection.prepare(
            "SELECT session, opened, root, owner, seq, last FROM sessions
             ORDER BY coalesce(last, opened) DESC, session",
        )?;
        let views = select.query_map([], session_view)?;
        views.collect::<Result<_, _>>().map_err(Into::into)
    }

    /// The records of a session from `after` on, in order: number, time, record.
    pub fn records(
        &self,
        session: &SessionId,
        after: i64,
    ) -> Result<Vec<(i64, u64, Record)>, StoreError> {
        self.records_page(session, after, usize::MAX)
    }

    /// The same, but not more than `most`.
    pub(crate) fn records_page(
        &self,
        session: &SessionId,
        after: i64,
        most: usize,
    ) -> Result<Vec<(i64, u64, Record)>, StoreError> {
        let connection = self.connection();
        let mut select = connection.prepare_cached(
            "SELECT seq, at, body FROM records WHERE session = ?1 AND seq > ?2 ORDER BY seq
             LIMIT ?3",
        )?;
        let most = i64::try_from(most).unwrap_or(-1);
        let mut rows = select.query(params![session.as_str(), after, most])?;
        let mut records = Vec::new();
        while let Some(row) = rows.next()? {
            let body: String = row.get(2)?;
            let at = row.get::<_, i64>(1)?.unsigned_abs();
            records.push((row.get(0)?, at, serde_json::from_str(&body)?));
        }
        Ok(records)
    }

    /// The calls of a session, in order.
    pub fn calls(&self, session: &SessionId) -> Result<Vec<CallView>, StoreError> {
        Ok(fold_calls(self.records(session, 0)?))
    }

    /// The calls whose batches were opened after a record.
    pub fn calls_after(&self, session: &SessionId, seq: i64) -> Result<Vec<CallView>, StoreError> {
        Ok(fold_calls(self.records(session, seq)?))
    }

    /// The calls of the last batch, if it was never sealed: what a crash left behind.
    pub fn unfinished(&self, session: &SessionId) -> Result<Vec<CallView>, StoreError> {
        match self.batch_marks(session)? {
            Some((opened, sealed)) if sealed < opened => {
                Ok(fold_calls(self.records(session, opened - 1)?))
            }
            Some(_) | None => Ok(Vec::new()),
        }
    }

    /// The calls of the batch that waits for results from outside, if one does.
    pub fn waiting(&self, session: &SessionId) -> Result<Vec<CallView>, StoreError> {
        let connection = self.connection();
        let mut select = connection
            .prepare_cached("SELECT waiting_batch, waiting_at FROM sessions WHERE session = ?1")?;
        let marks =
            select.query_row([session.as_str()], |row| Ok((row.get::<_, i64>(0)?, row.get(1)?)));
        let marks = marks.optional()?;
        drop(select);
        drop(connection);
        let Some((batch, opened @ 1..)) = marks else { return Ok(Vec::new()) };
        let mut calls = fold_calls(self.records(session, opened - 1)?);
        calls.retain(|call| call.batch == batch.unsigned_abs().into());
        Ok(calls)
    }

    /// Which records opened and sealed a batch last.
    fn batch_marks(&self, session: &SessionId) -> Result<Option<(i64, i64)>, StoreError> {
        let connection = self.connection();
        let mut select = connection
            .prepare_cached("SELECT opened_at, sealed_at FROM sessions WHERE session = ?1")?;
        let marks = select.query_row([session.as_str()], |row| Ok((row.get(0)?, row.get(1)?)));
        marks.optional().map_err(Into::into)
    }

    /// How many calls and batches a session has had.
    pub fn counts(&self, session: &SessionId) -> Result<(u64, u64), StoreError> {
        let connection = self.connection();
        let mut select =
            connection.prepare_cached("SELECT calls, batches FROM sessions WHERE session = ?1")?;
        let counts = select.query_row([session.as_str()], |row| {
            Ok((row.get::<_, i64>(0)?.unsigned_abs(), row.get::<_, i64>(1)?.unsigned_abs()))
        });
        Ok(counts.optional()?.unwrap_or((0, 0)))
    }

    pub(crate) fn freshness(&self, session: &SessionId) -> Result<Freshness, StoreError> {
        let connection = self.connection();
        let mut select = connection
            .prepare_cached("SELECT path, sha256, at, extent FROM reads WHERE session = ?1")?;
        let mut rows = select.query([session.as_str()])?;
        let mut freshness = Freshness::default();
        while let Some(row) = rows.next()? {
            let path: Vec<u8> = row.get(0)?;
            let (sha256, at, extent): (String, i64, String) =
                (row.get(1)?, row.get(2)?, row.get(3)?);
            let Ok(sha256) = sha256.parse() else { continue };
            let extent = serde_json::from_str(&extent)?;
            let record = ReadRecord { sha256, read_at_epoch_ms: at.unsigned_abs(), extent };
            freshness.record(path_from(path), record);
        }
        Ok(freshness)
    }
}

#[cfg(unix)]
pub(crate) fn path_from(bytes: Vec<u8>) -> PathBuf {
    use std::os::unix::ffi::OsStringExt;
    PathBuf::from(OsString::from_vec(bytes))
}

fn fold_calls(records: Vec<(i64, u64, Record)>) -> Vec<CallView> {
    let mut folded = Folded::default();
    records.into_iter().for_each(|(seq, at, record)| folded.add(seq, at, record));
    folded.take()
}

/// Records that become calls.
#[derive(Debug, Default)]
pub(crate) struct Folded {
    calls: Vec<CallView>,
    places: HashMap<CallKey, usize>,
    /// The batch among them that waits for results from outside.
    waiting: Option<BatchNumber>,
}

impl Folded {
    pub(crate) fn add(&mut self, seq: i64, at: u64, record: Record) {
        if let Record::BatchOpened { batch, calls: opened } = &record {
            for call in opened {
                self.places.insert(call.call.clone(), self.calls.len());
                let (batch, call) = (*batch, call.clone());
                self.calls.push(CallView { batch, call, seq, at, records: Vec::new() });
            }
        }
        match &record {
            Record::BatchWaits { batch } => self.waiting = Some(*batch),
            Record::BatchSealed { batch } if self.waiting == Some(*batch) => self.waiting = None,
            _ => {}
        }
        let place = record.call().and_then(|call| self.places.get(call));
        if let Some(call) = place.and_then(|place| self.calls.get_mut(*place)) {
            call.records.push((at, record));
        }
    }

    pub(crate) fn awaits_results(&self) -> bool {
        self.waiting.is_some()
    }

    /// The batch of the last call.
    pub(crate) fn batch(&self) -> Option<BatchNumber> {
        self.calls.last().map(|call| call.batch)
    }

    pub(crate) fn take(&mut self) -> Vec<CallView> {
        self.places.clear();
        std::mem::take(&mut self.calls)
    }
}

pub(crate) fn session_view(row: &Row<'_>) -> rusqlite::Result<SessionView> {
    let owner: Option<String> = row.get(3)?;
    Ok(SessionView {
        session: SessionId::from(row.get::<_, String>(0)?),
        opened: row.get::<_, i64>(1)?.unsigned_abs(),
        root: PathBuf::from(row.get::<_, String>(2)?),
        owner: owner.and_then(|text| serde_json::from_str(&text).ok()),
        records: row.get::<_, i64>(4)?.unsigned_abs(),
        last: row.get::<_, Option<i64>>(5)?.map(i64::unsigned_abs),
    })
}
