//! The journal: records, appended and chained.
//!
//! Law: `append` returns when all its records are on disk, or has written none of them. Each record
//! carries a hash over itself and the one before it in its session.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jm_types::{Digest, Freshness, ReadRecord};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use crate::lease::{self, Owner};
use crate::record::Record;
use crate::{StoreError, blobs, schema};

/// How long a write waits for another process's.
const PATIENCE: Duration = Duration::from_secs(10);

/// The journal's file, open for looking.
#[derive(Debug)]
pub struct Store {
    connection: Mutex<Connection>,
}

/// The journal, open for writing one session.
#[derive(Debug)]
pub struct Journal {
    store: Store,
    session: String,
    token: i64,
    clock: fn() -> u64,
}

/// What one append makes durable together.
#[derive(Debug, Default)]
pub struct Entry<'a> {
    pub records: Vec<Record>,
    pub blobs: Vec<&'a [u8]>,
    pub reads: Vec<(PathBuf, ReadRecord)>,
}

impl Store {
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let fail = |error| StoreError::Open { path: path.to_owned(), error };
        let mut connection = Connection::open(path).map_err(fail)?;
        configure(&connection).map_err(fail)?;
        schema::migrate(&mut connection).map_err(|error| match error {
            StoreError::Write(error) => fail(error),
            other => other,
        })?;
        Ok(Self { connection: Mutex::new(connection) })
    }

    pub(crate) fn connection(&self) -> MutexGuard<'_, Connection> {
        // A panic while it was held has rolled its transaction back.
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// FULL: a commit that returned survives a power cut.
fn configure(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(PATIENCE)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.set_prepared_statement_cache_capacity(32);
    Ok(())
}

impl Journal {
    /// Takes the session's lease. The clock gives milliseconds since the epoch.
    pub fn open(
        path: &Path,
        session: &str,
        root: &Path,
        owner: &Owner,
        is_alive: &dyn Fn(&Owner) -> bool,
        clock: fn() -> u64,
    ) -> Result<Self, StoreError> {
        let store = Store::open(path)?;
        let root = root.to_string_lossy();
        let mut connection = store.connection();
        let token = lease::acquire(&mut connection, session, &root, owner, clock(), is_alive)?;
        drop(connection);
        Ok(Self { store, session: session.to_owned(), token, clock })
    }

    pub fn store(&self) -> &Store {
        &self.store
    }

    pub fn session(&self) -> &str {
        &self.session
    }

    /// All of it, or nothing.
    pub fn append(&self, entry: &Entry<'_>) -> Result<(), StoreError> {
        let mut connection = self.store.connection();
        let step = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        lease::check(&step, &self.session, self.token)?;
        let now = i64::try_from((self.clock)()).unwrap_or(i64::MAX);
        for bytes in &entry.blobs {
            blobs::put(&step, &self.session, bytes, now)?;
        }
        let mut previous = last_hash(&step, &self.session)?;
        for record in &entry.records {
            previous = insert(&step, &self.session, record, now, previous)?;
        }
        for (path, read) in &entry.reads {
            record_read(&step, &self.session, path, read)?;
        }
        step.commit().map_err(Into::into)
    }

    /// Lets the next process have the session.
    pub fn close(self) -> Result<(), StoreError> {
        lease::release(&self.store.connection(), &self.session, self.token)
    }

    /// What the session has read, as far as it was recorded.
    pub fn freshness(&self) -> Result<Freshness, StoreError> {
        self.store.freshness(&self.session)
    }
}

/// The hash that a session's first record is chained to.
pub(crate) fn root_hash(session: &str) -> Digest {
    Digest::of(format!("journeyman session {session}").as_bytes())
}

pub(crate) fn chain(previous: Digest, kind: &str, at: i64, body: &str) -> Digest {
    Digest::of(format!("{previous}\n{kind}\n{at}\n{body}").as_bytes())
}

fn last_hash(step: &Transaction<'_>, session: &str) -> Result<Digest, StoreError> {
    let mut last = step
        .prepare_cached("SELECT hash FROM records WHERE session = ?1 ORDER BY seq DESC LIMIT 1")?;
    let found: Option<Vec<u8>> = last.query_row([session], |row| row.get(0)).optional()?;
    let bytes = found.and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
    Ok(bytes.map_or_else(|| root_hash(session), Digest::from_bytes))
}

fn insert(
    step: &Transaction<'_>,
    session: &str,
    record: &Record,
    now: i64,
    previous: Digest,
) -> Result<Digest, StoreError> {
    let body = serde_json::to_string(record)?;
    let hash = chain(previous, record.kind(), now, &body);
    let mut insert = step.prepare_cached(
        "INSERT INTO records (session, call, kind, at, body, hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    insert.execute(params![session, record.call(), record.kind(), now, body, hash.as_bytes()])?;
    Ok(hash)
}

fn record_read(
    step: &Transaction<'_>,
    session: &str,
    path: &Path,
    read: &ReadRecord,
) -> Result<(), StoreError> {
    let mut upsert = step.prepare_cached(
        "INSERT INTO reads (session, path, sha256, at, extent) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (session, path) DO UPDATE SET sha256 = ?3, at = ?4, extent = ?5",
    )?;
    let extent = serde_json::to_string(&read.extent)?;
    upsert.execute(params![
        session,
        path.as_os_str().as_encoded_bytes(),
        read.sha256.to_string(),
        i64::try_from(read.read_at_epoch_ms).unwrap_or(i64::MAX),
        extent
    ])?;
    Ok(())
}
