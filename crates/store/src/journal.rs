//! The journal: records, appended and chained.
//!
//! Law: `append` returns when all its records are on disk, or has written none of them. Each record
//! carries a hash over itself and the one before it in its session.

use std::path::{Path, PathBuf};

use jm_types::{CallKey, Digest, Freshness, ReadRecord, SessionId};
use rusqlite::{Transaction, params};

use crate::connection::{Store, shorten};
use crate::error::StoreError;
use crate::files::{self, IndexUpdate};
use crate::identity::Owner;
use crate::marks::Marks;
use crate::queue::WriteOrder;
use crate::record::Record;
use crate::{blobs, lease};

/// The journal, open for writing one session.
#[derive(Debug)]
pub struct Journal {
    store: Store,
    session: SessionId,
    token: i64,
    clock: fn() -> u64,
    opening: Option<Record>,
}

/// Records, contents and index that one append makes durable together.
#[derive(Debug, Default)]
pub struct Entry<'a> {
    /// Events, in order.
    pub records: Vec<Record>,
    /// Contents that the records name by their hash.
    pub blobs: Vec<&'a [u8]>,
    /// Files that the model has been shown, for the freshness of later edits.
    pub reads: Vec<(PathBuf, ReadRecord)>,
    /// A change of the workspace's index.
    pub index: Option<IndexUpdate>,
    /// The place among other writers.
    pub order: WriteOrder,
}

impl Journal {
    /// Takes the session's lease. The clock gives milliseconds since the epoch.
    pub fn open(
        path: &Path,
        session: &SessionId,
        root: &Path,
        owner: &Owner,
        is_alive: &dyn Fn(&Owner) -> bool,
        clock: fn() -> u64,
    ) -> Result<Self, StoreError> {
        Self::begin(Store::open(path)?, session, root, owner, is_alive, clock)
    }

    /// The same, with a journal that is open already.
    pub fn begin(
        store: Store,
        session: &SessionId,
        root: &Path,
        owner: &Owner,
        is_alive: &dyn Fn(&Owner) -> bool,
        clock: fn() -> u64,
    ) -> Result<Self, StoreError> {
        let root = root.to_string_lossy();
        let token = store.write_with_room(WriteOrder::InTurn, |step| {
            lease::acquire(step, session, &root, owner, clock(), is_alive)
        })?;
        Ok(Self { store, session: session.to_owned(), token, clock, opening: None })
    }

    /// Sets the record of what the session is worked with from now on. It is written with the first other record,
    /// unless the session says the same already.
    pub fn open_with(self, opening: Record) -> Self {
        Self { opening: Some(opening), ..self }
    }

    /// The journal, for queries.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The session that is written.
    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// All of it, or nothing.
    pub fn append(&self, entry: &Entry<'_>) -> Result<(), StoreError> {
        self.store.write_with_room(entry.order, |step| self.write(step, entry))
    }

    fn write(&self, step: &Transaction<'_>, entry: &Entry<'_>) -> Result<(), StoreError> {
        let mut end = End::of(step, &self.session, self.token)?;
        let now = self.now();
        for bytes in &entry.blobs {
            blobs::put(step, &self.session, bytes, now)?;
        }
        let opening = self.opening.as_ref().filter(|_| !entry.records.is_empty());
        let opening = opening.filter(|opening| end.marks.opening.as_ref() != Some(*opening));
        for record in opening.into_iter().chain(&entry.records) {
            end.insert(step, &self.session, record, now)?;
        }
        if !entry.records.is_empty() {
            end.save(step, &self.session, now)?;
        }
        for (path, read) in &entry.reads {
            record_read(step, &self.session, path, read)?;
        }
        if let Some(change) = &entry.index {
            files::write(step, change)?;
        }
        Ok(())
    }

    /// Refuses a session that is no longer ours.
    pub(crate) fn check_lease(&self, step: &Transaction<'_>) -> Result<(), StoreError> {
        End::of(step, &self.session, self.token).map(drop)
    }

    pub(crate) fn now(&self) -> i64 {
        i64::try_from((self.clock)()).unwrap_or(i64::MAX)
    }

    /// Writes the last records and lets the next process have the session, in one step.
    pub fn close(&self, entry: &Entry<'_>) -> Result<(), StoreError> {
        let released = self.store.write(|step| self.release(step, entry));
        let mut connection = self.store.connection();
        let _turn = self.store.turn();
        // A log that cannot be copied back now, because the disk is full or another process reads, loses
        // nothing by staying.
        shorten(&mut connection).unwrap_or_default();
        released
    }

    fn release(&self, step: &Transaction<'_>, entry: &Entry<'_>) -> Result<(), StoreError> {
        // A session that another process has taken over is not ours to give back.
        match self.write(step, entry) {
            Err(StoreError::Fenced) if entry.records.is_empty() => return Ok(()),
            written => written?,
        }
        lease::release(step, &self.session, self.token)
    }

    /// The reads of the session, as far as they were recorded.
    pub fn freshness(&self) -> Result<Freshness, StoreError> {
        self.store.freshness(&self.session)
    }
}

/// The hash that a session's first record is chained to.
pub(crate) fn root_hash(session: &SessionId) -> Digest {
    Digest::of(format!("journeyman session {session}").as_bytes())
}

pub(crate) fn chain(previous: Digest, at: i64, body: &str) -> Digest {
    Digest::of(format!("{previous}\n{at}\n{body}").as_bytes())
}

/// The end of a session's chain of records.
struct End {
    seq: i64,
    hash: Digest,
    marks: Marks,
}

impl End {
    /// Read inside the writing transaction; a session that is no longer ours is refused.
    fn of(step: &Transaction<'_>, session: &SessionId, token: i64) -> Result<Self, StoreError> {
        let mut select = step.prepare_cached(
            "SELECT token, seq, hash, calls, batches, opened_at, sealed_at, opening,
             waiting_batch, waiting_at FROM sessions WHERE session = ?1",
        )?;
        let (current, end) = select.query_row([session.as_str()], |row| {
            let hash: Option<Vec<u8>> = row.get(2)?;
            let hash = hash.and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
            let hash = hash.map_or_else(|| root_hash(session), Digest::from_bytes);
            let (calls, batches) = (row.get(3)?, row.get(4)?);
            let (opened_at, sealed_at) = (row.get(5)?, row.get(6)?);
            let opening: Option<String> = row.get(7)?;
            let opening = opening.and_then(|body| serde_json::from_str(&body).ok());
            let waiting = (row.get(8)?, row.get(9)?);
            let marks = Marks { calls, batches, opened_at, sealed_at, waiting, opening };
            let end = End { seq: row.get(1)?, hash, marks };
            Ok((row.get::<_, i64>(0)?, end))
        })?;
        if current == token { Ok(end) } else { Err(StoreError::Fenced) }
    }

    fn insert(
        &mut self,
        step: &Transaction<'_>,
        session: &SessionId,
        record: &Record,
        now: i64,
    ) -> Result<(), StoreError> {
        let body = serde_json::to_string(record).map_err(StoreError::NoText)?;
        self.seq += 1;
        self.hash = chain(self.hash, now, &body);
        self.marks.note(self.seq, record);
        for sha256 in record.contents() {
            blobs::use_for(step, session, sha256)?;
        }
        step.prepare_cached(
            "INSERT INTO records (session, seq, at, body, hash, kind, call)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            session.as_str(),
            self.seq,
            now,
            body,
            self.hash.as_bytes(),
            record.kind(),
            record.call().map(CallKey::as_str)
        ])?;
        Ok(())
    }

    fn save(
        &self,
        step: &Transaction<'_>,
        session: &SessionId,
        now: i64,
    ) -> Result<(), StoreError> {
        let marks = &self.marks;
        let opening = marks.opening.as_ref().map(serde_json::to_string).transpose();
        let opening = opening.map_err(StoreError::NoText)?;
        step.prepare_cached(
            "UPDATE sessions SET seq = ?2, hash = ?3, last = ?4, calls = ?5, batches = ?6,
             opened_at = ?7, sealed_at = ?8, opening = ?9, waiting_batch = ?10, waiting_at = ?11
             WHERE session = ?1",
        )?
        .execute(params![
            session.as_str(),
            self.seq,
            self.hash.as_bytes(),
            now,
            marks.calls,
            marks.batches,
            marks.opened_at,
            marks.sealed_at,
            opening,
            marks.waiting.0,
            marks.waiting.1
        ])?;
        Ok(())
    }
}

fn record_read(
    step: &Transaction<'_>,
    session: &SessionId,
    path: &Path,
    read: &ReadRecord,
) -> Result<(), StoreError> {
    let mut upsert = step.prepare_cached(
        "INSERT INTO reads (session, path, sha256, at, extent) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (session, path) DO UPDATE SET sha256 = ?3, at = ?4, extent = ?5",
    )?;
    let extent = serde_json::to_string(&read.extent)?;
    upsert.execute(params![
        session.as_str(),
        path.as_os_str().as_encoded_bytes(),
        read.sha256.to_string(),
        i64::try_from(read.read_at_epoch_ms).unwrap_or(i64::MAX),
        extent
    ])?;
    Ok(())
}
