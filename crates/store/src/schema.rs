//! The tables, and how older ones become these.
//!
//! Law: a migration is never edited after it was released; a new one is added.

use rusqlite::{Connection, TransactionBehavior};

use crate::StoreError;

const MIGRATIONS: &[&str] = &[
    "
CREATE TABLE sessions (
    session  TEXT PRIMARY KEY,
    opened   INTEGER NOT NULL,
    root     TEXT NOT NULL,
    -- the lease: who may write, and the token that proves it
    token    INTEGER NOT NULL,
    owner    TEXT,
    -- where its records end, so that a write looks at nothing else
    seq      INTEGER NOT NULL DEFAULT 0,
    hash     BLOB,
    last     INTEGER,
    calls    INTEGER NOT NULL DEFAULT 0,
    batches  INTEGER NOT NULL DEFAULT 0,
    -- the record that opened the last batch, and the one that sealed it
    opened_at INTEGER NOT NULL DEFAULT 0,
    sealed_at INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE TABLE records (
    session  TEXT NOT NULL,
    seq      INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    body     TEXT NOT NULL,
    hash     BLOB NOT NULL,
    PRIMARY KEY (session, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE reads (
    session  TEXT NOT NULL,
    path     BLOB NOT NULL,
    sha256   TEXT NOT NULL,
    at       INTEGER NOT NULL,
    extent   TEXT NOT NULL,
    PRIMARY KEY (session, path)
) STRICT, WITHOUT ROWID;
CREATE TABLE blobs (
    sha256   TEXT PRIMARY KEY,
    size     INTEGER NOT NULL,
    stored   INTEGER NOT NULL,
    added    INTEGER NOT NULL
) STRICT;
CREATE TABLE chunks (
    sha256   TEXT NOT NULL,
    start    INTEGER NOT NULL,
    data     BLOB NOT NULL,
    PRIMARY KEY (sha256, start)
) STRICT;
CREATE TABLE uses (
    sha256   TEXT NOT NULL,
    session  TEXT NOT NULL,
    PRIMARY KEY (sha256, session)
) STRICT, WITHOUT ROWID;
CREATE TABLE files (
    -- the workspace index: what each file was when it was last looked at
    root     TEXT NOT NULL,
    path     BLOB NOT NULL,
    stat     TEXT NOT NULL,
    sha256   TEXT NOT NULL,
    PRIMARY KEY (root, path)
) STRICT, WITHOUT ROWID;
",
    "
-- what a record is and which call it is about, so that some can be found without reading all
ALTER TABLE records ADD COLUMN kind TEXT NOT NULL DEFAULT '';
ALTER TABLE records ADD COLUMN call TEXT;
UPDATE records SET kind = json_extract(body, '$.kind'), call = json_extract(body, '$.call');
CREATE INDEX said ON records (session, seq) WHERE kind IN ('session_opened', 'message');
CREATE INDEX about ON records (call, seq) WHERE call IS NOT NULL;
-- the last record of what the session is worked with
ALTER TABLE sessions ADD COLUMN opening TEXT;
",
    "
-- contents that are outputs of calls; these do not count as used by a session
CREATE TABLE outputs (
    call     TEXT NOT NULL,
    sha256   TEXT NOT NULL,
    added    INTEGER NOT NULL,
    PRIMARY KEY (call, sha256)
) STRICT, WITHOUT ROWID;
CREATE INDEX outputs_by_content ON outputs (sha256);
-- contents that were let go to stay within a quota
CREATE TABLE released (
    sha256   TEXT PRIMARY KEY,
    at       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
",
    "
-- the calls that changed something, in a session and in all of them, the newest at the end
CREATE INDEX changes ON records (session, seq)
    WHERE kind IN ('prepared', 'tracked', 'undid');
CREATE INDEX changes_by_time ON records (at, session, seq)
    WHERE kind IN ('prepared', 'tracked', 'undid');
",
    // The record `withdrawn`: who does not know it would take back what never was.
    "",
    "
-- rows of the index carry a hash of what they say; a row that is missing costs a read, so old ones go
DROP TABLE files;
CREATE TABLE files (
    root     TEXT NOT NULL,
    path     BLOB NOT NULL,
    stat     TEXT NOT NULL,
    sha256   TEXT NOT NULL,
    hash     BLOB NOT NULL,
    PRIMARY KEY (root, path)
) STRICT, WITHOUT ROWID;
CREATE INDEX files_by_content ON files (sha256);
-- a session that was opened elsewhere before its first record belongs to where that was written
UPDATE sessions SET root = coalesce(
    (SELECT json_extract(body, '$.root') FROM records WHERE records.session = sessions.session
     AND kind = 'session_opened' ORDER BY seq LIMIT 1), root);
",
    "
-- the batch whose calls wait for results from outside, and the record that opened it
ALTER TABLE sessions ADD COLUMN waiting_batch INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN waiting_at INTEGER NOT NULL DEFAULT 0;
-- what a model had said when its calls came
CREATE INDEX received ON records (session, seq) WHERE kind = 'received';
",
    "
-- layers of commands are changes too; who does not know their records would not take them back
DROP INDEX changes;
DROP INDEX changes_by_time;
CREATE INDEX changes ON records (session, seq)
    WHERE kind IN ('prepared', 'layered', 'tracked', 'undid');
CREATE INDEX changes_by_time ON records (at, session, seq)
    WHERE kind IN ('prepared', 'layered', 'tracked', 'undid');
-- the directories of layers, by the session whose call they belong to
CREATE INDEX layered ON records (session, seq) WHERE kind = 'layered';
",
    "
-- the records `titled` and `used`: what a session is called, and which models answered in it
CREATE INDEX used ON records (session, seq) WHERE kind IN ('titled', 'used');
",
    "
-- the workspace index by directory instead of by file; what is missing costs a read, so old rows go, and the
-- table stays for a program of the version before that is at work meanwhile
DELETE FROM files;
CREATE TABLE folders (
    -- ever higher, so that a collection finds what was written since
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    root     TEXT NOT NULL,
    folder   BLOB NOT NULL,
    -- the first of its names, where a directory has more than one row
    first    BLOB NOT NULL,
    contents BLOB NOT NULL,
    entries  BLOB NOT NULL,
    hash     BLOB NOT NULL,
    UNIQUE (root, folder, first)
) STRICT;
",
];

pub(crate) fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
    // Only an old journal is locked.
    if missing(connection)?.is_empty() {
        return Ok(());
    }
    let step = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Whoever comes second finds it migrated, perhaps by a newer program.
    for script in missing(&step)? {
        step.execute_batch(script)?;
    }
    step.pragma_update(None, "user_version", known())?;
    step.commit().map_err(Into::into)
}

fn known() -> i64 {
    i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX)
}

/// The steps that are still to be done.
fn missing(connection: &Connection) -> Result<&'static [&'static str], StoreError> {
    let found: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let done = usize::try_from(found).unwrap_or(0);
    MIGRATIONS.get(done..).ok_or(StoreError::Newer { found, known: known() })
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, PoisonError};

    use super::*;

    static FASTER: Mutex<Option<Connection>> = Mutex::new(None);

    /// Whoever is faster ends its migration while the other waits for it.
    fn is_done(_: i32) -> bool {
        let faster = FASTER.lock().unwrap_or_else(PoisonError::into_inner).take();
        faster.is_some_and(|faster| faster.execute_batch("COMMIT").is_ok())
    }

    #[test]
    fn a_newer_program_that_migrates_at_the_same_time_is_noticed() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("journal.db");
        let faster = Connection::open(&path).unwrap();
        faster
            .execute_batch("PRAGMA journal_mode = WAL; BEGIN IMMEDIATE; PRAGMA user_version = 99")
            .unwrap();
        *FASTER.lock().unwrap() = Some(faster);
        let mut slower = Connection::open(&path).unwrap();
        slower.busy_handler(Some(is_done)).unwrap();
        let outcome = migrate(&mut slower);
        assert!(matches!(outcome, Err(StoreError::Newer { found: 99, .. })), "{outcome:?}");
        let left: i64 = slower.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
        assert_eq!(left, 99);
    }
}
