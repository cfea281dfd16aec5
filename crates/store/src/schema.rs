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
];

pub(crate) fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
    let known = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
    // Only an old journal is locked; whoever comes second finds it migrated.
    match version(connection)? {
        found if found == known => return Ok(()),
        found if found > known => return Err(StoreError::Newer { found, known }),
        _ => {}
    }
    let step = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found = version(&step)?;
    for script in MIGRATIONS.iter().skip(usize::try_from(found).unwrap_or(0)) {
        step.execute_batch(script)?;
    }
    step.pragma_update(None, "user_version", known)?;
    step.commit().map_err(Into::into)
}

fn version(connection: &Connection) -> Result<i64, StoreError> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(Into::into)
}
