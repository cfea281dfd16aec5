//! Verification: the journal is what was written. Every record against its chain, every content against its
//! name, and what undo and recovery look up beside them against the records that it follows from.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jm_types::{CallKey, Digest, ReadRecord, SessionId};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::files::damaged;
use crate::journal::{chain, root_hash};
use crate::marks::Marks;
use crate::query::path_from;
use crate::{Record, Store, StoreError};

/// Something that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Damage {
    /// The file itself, in SQLite's words.
    File(String),
    /// A record whose bytes or place changed; all later ones of its session hang on it.
    Record {
        /// The session of the record.
        session: SessionId,
        /// Its place in the chain.
        seq: i64,
    },
    /// A record that says nothing we know.
    Unreadable {
        /// The session of the record.
        session: SessionId,
        /// Its place in the chain.
        seq: i64,
    },
    /// A column of a session that does not follow from its records.
    Session {
        /// The session with the false column.
        session: SessionId,
        /// The column's name in the table.
        column: &'static str,
    },
    /// A file that a session is said to have read, against its records.
    Read {
        /// The session that the row belongs to.
        session: SessionId,
        /// The file that it names.
        path: PathBuf,
    },
    /// A directory's files as the index of their workspace has them.
    Index {
        /// The directory.
        path: PathBuf,
    },
    /// A content whose bytes do not have the hash that they are stored under.
    Content(Digest),
}

impl std::fmt::Display for Damage {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Damage::File(what) => write!(out, "journal file: {what}"),
            Damage::Record { session, seq } => {
                write!(out, "session {session}: record {seq} was altered")
            }
            Damage::Unreadable { session, seq } => {
                write!(out, "session {session}: record {seq} cannot be read")
            }
            Damage::Session { session, column } => {
                write!(out, "session {session}: `{column}` does not match its records")
            }
            Damage::Read { session, path } => {
                let path = path.display();
                write!(out, "session {session}: its record of reading {path} was altered")
            }
            Damage::Index { path } => {
                write!(out, "index: the entry of {} was altered", path.display())
            }
            Damage::Content(sha256) => write!(out, "stored content {sha256} is damaged"),
        }
    }
}

impl Store {
    /// Reads everything; the number of records, and all damage found.
    pub fn verify(&self) -> Result<(u64, Vec<Damage>), StoreError> {
        let mut damage = self.file_damage()?;
        let mut count = 0;
        for view in self.sessions()? {
            let (records, found) = self.verify_session(&view.session)?;
            count += records;
            damage.extend(found);
        }
        self.verify_index(&mut damage)?;
        self.verify_contents(&mut damage)?;
        Ok((count, damage))
    }

    fn file_damage(&self) -> Result<Vec<Damage>, StoreError> {
        let connection = self.connection();
        let mut check = connection.prepare("PRAGMA quick_check")?;
        let lines = check.query_map([], |row| row.get::<_, String>(0))?;
        let lines = lines.collect::<Result<Vec<_>, _>>()?;
        Ok(lines.into_iter().filter(|line| line != "ok").map(Damage::File).collect())
    }

    /// Follows one session's chain, and all that follows from it: the number of records, and the damage.
    /// Both are of one moment, also while the session is at work.
    pub fn verify_session(&self, session: &SessionId) -> Result<(u64, Vec<Damage>), StoreError> {
        let mut connection = self.connection();
        let moment = connection.transaction()?;
        let mut walk = Walk::new(session);
        walk.records(&moment)?;
        let marks = walk.end(&moment)?;
        // From records that are not what was written nothing follows.
        if walk.damage.is_empty() {
            marks.into_iter().for_each(|(marks, last, root)| walk.columns(&marks, last, &root));
            walk.reads(&moment)?;
        }
        Ok((walk.count, walk.damage))
    }

    fn verify_index(&self, damage: &mut Vec<Damage>) -> Result<(), StoreError> {
        let damaged = damaged(&self.connection())?;
        damage.extend(damaged.into_iter().map(|path| Damage::Index { path }));
        Ok(())
    }

    fn verify_contents(&self, damage: &mut Vec<Damage>) -> Result<(), StoreError> {
        let names: Vec<String> = {
            let connection = self.connection();
            let mut select = connection.prepare("SELECT sha256 FROM blobs")?;
            let names = select.query_map([], |row| row.get(0))?;
            names.collect::<Result<_, _>>()?
        };
        for sha256 in names.iter().filter_map(|name| name.parse().ok()) {
            // What a collection lets go meanwhile is not damaged.
            if let Err(StoreError::Missing(_) | StoreError::Content(_)) = self.blob(sha256)
                && self.blob_size(sha256)?.is_some()
            {
                damage.push(Damage::Content(sha256));
            }
        }
        Ok(())
    }
}

/// The way along one session's records.
struct Walk<'a> {
    session: &'a SessionId,
    count: u64,
    damage: Vec<Damage>,
    last: (i64, i64),
    hash: Digest,
    marks: Marks,
    /// The directory that its first opening names.
    root: Option<PathBuf>,
    /// The reads that its results have shown of files, the last of each.
    seen: BTreeMap<PathBuf, ReadRecord>,
}

impl<'a> Walk<'a> {
    fn new(session: &'a SessionId) -> Self {
        Self {
            session,
            count: 0,
            damage: Vec::new(),
            last: (0, 0),
            hash: root_hash(session),
            marks: Marks::default(),
            root: None,
            seen: BTreeMap::new(),
        }
    }

    fn records(&mut self, connection: &Connection) -> Result<(), StoreError> {
        let mut select = connection.prepare_cached(
            "SELECT seq, at, body, hash, kind, call FROM records WHERE session = ?1 ORDER BY seq",
        )?;
        let mut rows = select.query([self.session.as_str()])?;
        while let Some(row) = rows.next()? {
            self.count += 1;
            let (seq, at, body): (i64, i64, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
            let stored: Vec<u8> = row.get(3)?;
            let expected = chain(self.hash, at, &body);
            if stored != expected.as_bytes() || seq != self.last.0 + 1 {
                self.record_damage(seq);
            }
            match serde_json::from_str::<Record>(&body) {
                Err(_) => {
                    let session = self.session.clone();
                    self.damage.push(Damage::Unreadable { session, seq });
                }
                Ok(record) => self.record(connection, row, seq, record)?,
            }
            // Going on from what is stored, one changed record is reported once.
            self.hash = <[u8; 32]>::try_from(stored).map_or(expected, Digest::from_bytes);
            self.last = (seq, at);
        }
        Ok(())
    }

    fn record_damage(&mut self, seq: i64) {
        self.damage.push(Damage::Record { session: self.session.clone(), seq });
    }

    fn record(
        &mut self,
        connection: &Connection,
        row: &Row<'_>,
        seq: i64,
        record: Record,
    ) -> Result<(), StoreError> {
        let found: (String, Option<String>) = (row.get(4)?, row.get(5)?);
        if (found.0.as_str(), found.1.as_deref())
            != (record.kind(), record.call().map(CallKey::as_str))
        {
            self.record_damage(seq);
        }
        let named = record.contents().into_iter().chain(record.outputs());
        let gone = named.filter(|sha256| !is_kept(connection, *sha256));
        self.damage.extend(gone.map(Damage::Content));
        self.marks.note(seq, &record);
        match record {
            Record::SessionOpened { root, .. } if self.root.is_none() => self.root = Some(root),
            Record::Finished { result, .. } => self.seen.extend(result.seen),
            _ => {}
        }
        Ok(())
    }

    /// The session's own row: where its records end. Returns what else it says: marks, time of the last record
    /// and root.
    fn end(
        &mut self,
        connection: &Connection,
    ) -> Result<Option<(Marks, Option<i64>, String)>, StoreError> {
        let mut select = connection.prepare_cached(
            "SELECT seq, hash, last, calls, batches, opened_at, sealed_at, opening, root,
             waiting_batch, waiting_at FROM sessions WHERE session = ?1",
        )?;
        let row = |row: &Row<'_>| {
            let opening: Option<String> = row.get(7)?;
            let opening = opening.and_then(|body| serde_json::from_str(&body).ok());
            let (calls, batches) = (row.get(3)?, row.get(4)?);
            let (opened_at, sealed_at) = (row.get(5)?, row.get(6)?);
            let waiting = (row.get(9)?, row.get(10)?);
            let marks = Marks { calls, batches, opened_at, sealed_at, waiting, opening };
            let (seq, hash): (i64, Option<Vec<u8>>) = (row.get(0)?, row.get(1)?);
            Ok((seq, hash, (marks, row.get(2)?, row.get(8)?)))
        };
        let found = select.query_row([self.session.as_str()], row).optional()?;
        let Some((seq, hash, rest)) = found else { return Ok(None) };
        let expected = hash.unwrap_or_else(|| root_hash(self.session).as_bytes().to_vec());
        // Without this, records could be taken off the end unseen.
        if seq != self.last.0 || expected != self.hash.as_bytes() {
            self.record_damage(seq);
        }
        Ok(Some(rest))
    }

    fn columns(&mut self, marks: &Marks, last: Option<i64>, root: &str) {
        let own = &self.marks;
        let columns = [
            ("root", self.root.as_deref().is_none_or(|own| own == Path::new(root))),
            ("last", last.unwrap_or(0) == self.last.1),
            ("calls", marks.calls == own.calls),
            ("batches", marks.batches == own.batches),
            ("opened_at", marks.opened_at == own.opened_at),
            ("sealed_at", marks.sealed_at == own.sealed_at),
            ("waiting_batch", marks.waiting.0 == own.waiting.0),
            ("waiting_at", marks.waiting.1 == own.waiting.1),
            ("opening", marks.opening == own.opening),
        ];
        let wrong = columns.into_iter().filter(|(_, is_right)| !is_right);
        let session = self.session;
        let damage =
            wrong.map(|(column, _)| Damage::Session { session: session.to_owned(), column });
        self.damage.extend(damage);
    }

    fn reads(&mut self, connection: &Connection) -> Result<(), StoreError> {
        let mut select = connection
            .prepare_cached("SELECT path, sha256, at, extent FROM reads WHERE session = ?1")?;
        let mut rows = select.query([self.session.as_str()])?;
        while let Some(row) = rows.next()? {
            let path = path_from(row.get(0)?);
            let (sha256, at, extent): (String, i64, String) =
                (row.get(1)?, row.get(2)?, row.get(3)?);
            let is_right = self.seen.remove(&path).is_some_and(|read| {
                sha256 == read.sha256.to_string()
                    && at.unsigned_abs() == read.read_at_epoch_ms
                    && serde_json::from_str(&extent).is_ok_and(|extent| read.extent == extent)
            });
            if !is_right {
                self.damage.push(Damage::Read { session: self.session.clone(), path });
            }
        }
        let session = self.session;
        let missing = std::mem::take(&mut self.seen).into_keys();
        let missing = missing.map(|path| Damage::Read { session: session.to_owned(), path });
        self.damage.extend(missing);
        Ok(())
    }
}

/// It is there, or was let go knowingly.
fn is_kept(connection: &Connection, sha256: Digest) -> bool {
    let select = connection.prepare_cached(
        "SELECT 1 FROM blobs WHERE sha256 = ?1 UNION ALL SELECT 1 FROM released WHERE sha256 = ?1",
    );
    select.is_ok_and(|mut select| select.exists([sha256.to_string()]).unwrap_or(false))
}
