//! Whether the journal is what was written: every record against its chain, every content against
//! its name.

use jm_types::Digest;
use rusqlite::Connection;

use crate::journal::{chain, root_hash};
use crate::{Record, Store, StoreError};

/// Something that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Damage {
    /// The file itself, in SQLite's words.
    File(String),
    /// A record whose bytes or place changed; all later ones of its session hang on it.
    Record {
        session: String,
        seq: i64,
    },
    /// A record that says nothing we know.
    Unreadable {
        session: String,
        seq: i64,
    },
    Content(Digest),
}

impl std::fmt::Display for Damage {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Damage::File(what) => write!(out, "journal file: {what}"),
            Damage::Record { session, seq } => {
                write!(out, "session {session}: record {seq} is not what was written")
            }
            Damage::Unreadable { session, seq } => {
                write!(out, "session {session}: record {seq} cannot be read")
            }
            Damage::Content(sha256) => write!(out, "stored content {sha256} is damaged"),
        }
    }
}

impl Store {
    /// Reads everything; the number of records, and all damage found.
    pub fn verify(&self) -> Result<(u64, Vec<Damage>), StoreError> {
        let mut damage = self.file_damage()?;
        let count = self.verify_records(&mut damage)?;
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

    fn verify_records(&self, damage: &mut Vec<Damage>) -> Result<u64, StoreError> {
        let connection = self.connection();
        let mut ends = connection.prepare("SELECT session, seq, hash FROM sessions")?;
        let mut rows = ends.query([])?;
        let mut count = 0;
        while let Some(row) = rows.next()? {
            let (session, seq): (String, i64) = (row.get(0)?, row.get(1)?);
            let stored: Option<Vec<u8>> = row.get(2)?;
            let (last, hash) = verify_session(&connection, &session, damage, &mut count)?;
            let expected = stored.unwrap_or_else(|| root_hash(&session).as_bytes().to_vec());
            // Without this, records could be taken off the end unseen.
            if last != seq || expected != hash.as_bytes() {
                damage.push(Damage::Record { session, seq });
            }
        }
        Ok(count)
    }

    fn verify_contents(&self, damage: &mut Vec<Damage>) -> Result<(), StoreError> {
        let names: Vec<String> = {
            let connection = self.connection();
            let mut select = connection.prepare("SELECT sha256 FROM blobs")?;
            let names = select.query_map([], |row| row.get(0))?;
            names.collect::<Result<_, _>>()?
        };
        for sha256 in names.iter().filter_map(|name| name.parse().ok()) {
            if self.blob(sha256).is_err() {
                damage.push(Damage::Content(sha256));
            }
        }
        Ok(())
    }
}

/// Follows a session's chain; its last record and hash.
fn verify_session(
    connection: &Connection,
    session: &str,
    damage: &mut Vec<Damage>,
    count: &mut u64,
) -> Result<(i64, Digest), StoreError> {
    let mut select = connection.prepare_cached(
        "SELECT seq, at, body, hash, kind, call FROM records WHERE session = ?1 ORDER BY seq",
    )?;
    let mut rows = select.query([session])?;
    let (mut last, mut previous) = (0, root_hash(session));
    while let Some(row) = rows.next()? {
        *count += 1;
        let (seq, at, body): (i64, i64, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let stored: Vec<u8> = row.get(3)?;
        let expected = chain(previous, at, &body);
        if stored != expected.as_bytes() || seq != last + 1 {
            damage.push(Damage::Record { session: session.to_owned(), seq });
        }
        match serde_json::from_str::<Record>(&body) {
            Err(_) => damage.push(Damage::Unreadable { session: session.to_owned(), seq }),
            Ok(record) => {
                let found: (String, Option<String>) = (row.get(4)?, row.get(5)?);
                if (found.0.as_str(), found.1.as_deref()) != (record.kind(), record.call()) {
                    damage.push(Damage::Record { session: session.to_owned(), seq });
                }
                let named = record.contents().into_iter().chain(record.outputs());
                let gone = named.filter(|sha256| !is_kept(connection, *sha256));
                damage.extend(gone.map(Damage::Content));
            }
        }
        // Going on from what is stored, one changed record is reported once.
        previous = <[u8; 32]>::try_from(stored).map_or(expected, Digest::from_bytes);
        last = seq;
    }
    Ok((last, previous))
}

/// It is there, or was let go knowingly.
fn is_kept(connection: &Connection, sha256: Digest) -> bool {
    let select = connection.prepare_cached(
        "SELECT 1 FROM blobs WHERE sha256 = ?1 UNION ALL SELECT 1 FROM released WHERE sha256 = ?1",
    );
    select.is_ok_and(|mut select| select.exists([sha256.to_string()]).unwrap_or(false))
}
