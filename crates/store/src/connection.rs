//! The journal's file: opened, with its settings, and its log kept short.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use crate::error::StoreError;
use crate::queue::{WriteQueue, wait_for_lock};
use crate::schema;

/// In pages of 4 KB. Copying the log back costs two syncs, so it is not done often; it needs as much
/// space again, so on a full disk it must not need more than the reserve.
const LONG_LOG: i64 = 256;

/// How long copying the whole log back waits for readers: writers wait meanwhile.
const CHECKPOINT_PATIENCE: Duration = Duration::from_millis(100);

/// The journal's file, open for looking.
#[derive(Debug)]
pub struct Store {
    connection: Mutex<Connection>,
    pub(crate) queue: Option<Arc<dyn WriteQueue>>,
}

impl Store {
    /// Opens the journal at a path, and makes or migrates its tables.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let fail = |error: rusqlite::Error| match StoreError::from(error) {
            StoreError::Write(error) => StoreError::Open { path: path.to_owned(), error },
            other => other,
        };
        let mut connection = Connection::open(path).map_err(fail)?;
        configure(&mut connection).map_err(fail)?;
        schema::migrate(&mut connection).map_err(|error| match error {
            StoreError::Write(error) => fail(error),
            other => other,
        })?;
        Ok(Self { connection: Mutex::new(connection), queue: None })
    }

    /// From now on writes wait their turn in a queue.
    #[must_use]
    pub fn queued(self, queue: Arc<dyn WriteQueue>) -> Self {
        Self { queue: Some(queue), ..self }
    }

    pub(crate) fn connection(&self) -> MutexGuard<'_, Connection> {
        // A panic while it was held has rolled its transaction back.
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// FULL: a commit that returned survives a power cut.
fn configure(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.busy_handler(Some(wait_for_lock))?;
    // Of a new journal: what is removed can be given back to the disk in small steps. An old one stays as
    // it is until it is rewritten as a whole; setting it there would write a page at each opening.
    if connection.query_row("PRAGMA page_count", [], |row| row.get::<_, i64>(0))? == 0 {
        connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    }
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "wal_autocheckpoint", LONG_LOG)?;
    // A process that makes one call leaves the log to the next one.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.set_prepared_statement_cache_capacity(32);
    Ok(())
}

/// Copies the whole log back and empties it. Where another process reads for long it stays: writers would wait.
pub(crate) fn checkpoint(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(CHECKPOINT_PATIENCE)?;
    let copied = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    connection.busy_handler(Some(wait_for_lock))?;
    copied
}

/// Copies the log back where it has grown long: the next process reads all of it before its first
/// write, while copying it back costs two syncs.
pub(crate) fn shorten(connection: &mut Connection) -> rusqlite::Result<()> {
    let frames = |row: &rusqlite::Row<'_>| row.get::<_, i64>(1);
    let length = connection.query_row("PRAGMA wal_checkpoint(NOOP)", [], frames)?;
    if length > LONG_LOG { checkpoint(connection) } else { Ok(()) }
}
