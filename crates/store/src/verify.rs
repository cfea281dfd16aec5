//! Whether the journal is what was written: every record against its chain, every content against
//! its name.

use std::collections::HashMap;

use jm_types::Digest;

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
        let mut select = connection
            .prepare("SELECT seq, session, kind, at, body, hash FROM records ORDER BY seq")?;
        let mut rows = select.query([])?;
        let mut last: HashMap<String, Digest> = HashMap::new();
        let mut count = 0;
        while let Some(row) = rows.next()? {
            count += 1;
            let (seq, session): (i64, String) = (row.get(0)?, row.get(1)?);
            let (kind, at, body): (String, i64, String) = (row.get(2)?, row.get(3)?, row.get(4)?);
            let stored: Vec<u8> = row.get(5)?;
            let previous = last.get(&session).copied().unwrap_or_else(|| root_hash(&session));
            let expected = chain(previous, &kind, at, &body);
            if stored != expected.as_bytes() {
                damage.push(Damage::Record { session: session.clone(), seq });
            }
            if serde_json::from_str::<Record>(&body).is_err() {
                damage.push(Damage::Unreadable { session: session.clone(), seq });
            }
            // Going on from what is stored, one changed record is reported once.
            let next = <[u8; 32]>::try_from(stored).map_or(expected, Digest::from_bytes);
            last.insert(session, next);
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
