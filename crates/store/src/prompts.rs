//! Prompts: where a person spoke in a session, and which batches a model made since.
//!
//! Law: what was said is not read, only who said it and where.

use jm_types::{BatchNumber, CallKey, SessionId};
use rusqlite::params;

use crate::history::CHANGES;
use crate::record::Record;
use crate::{Store, StoreError};

/// One place among a session's records at which somebody spoke.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnMark {
    /// Its place among the session's records.
    pub seq: i64,
    /// Milliseconds since the epoch.
    pub at: u64,
    /// The speaker.
    pub kind: TurnKind,
}

/// The speaker at a mark: a person, or a model that asked for calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnKind {
    /// A person spoke.
    Prompt,
    /// A model asked for the calls of this batch.
    Asked(BatchNumber),
}

/// An undo or a redo, by the place of its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoMark {
    /// The place among the session's records.
    pub seq: i64,
    /// The key of the undo itself.
    pub call: CallKey,
    /// The calls that it took back.
    pub of: Vec<CallKey>,
}

impl Store {
    /// The places at which people and models spoke in a session, in order.
    pub fn turn_marks(&self, session: &SessionId) -> Result<Vec<TurnMark>, StoreError> {
        let connection = self.connection();
        let mut select = connection.prepare_cached(
            "SELECT seq, at, json_extract(body, '$.role'), json_extract(body, '$.batch')
             FROM records INDEXED BY said WHERE session = ?1
             AND kind IN ('session_opened', 'message') AND kind = 'message' ORDER BY seq",
        )?;
        let mut rows = select.query([session.as_str()])?;
        let mut marks = Vec::new();
        while let Some(row) = rows.next()? {
            let (seq, at): (i64, i64) = (row.get(0)?, row.get(1)?);
            let (role, batch): (String, Option<i64>) = (row.get(2)?, row.get(3)?);
            let asked = batch.map(|batch| TurnKind::Asked(batch.unsigned_abs().into()));
            let kind = if role == "user" { Some(TurnKind::Prompt) } else { asked };
            let mark = |kind| TurnMark { seq, at: at.unsigned_abs(), kind };
            marks.extend(kind.map(mark));
        }
        drop(rows);
        drop(select);
        drop(connection);
        // Calls of a message that a crash cut off.
        let received = self.received(session, 0)?;
        marks.extend(received.into_iter().map(|(seq, at, batch)| TurnMark {
            seq,
            at,
            kind: TurnKind::Asked(batch),
        }));
        marks.sort_by_key(|mark| mark.seq);
        Ok(marks)
    }

    /// The undos and redos of a session after a record, in order.
    pub fn undone_after(
        &self,
        session: &SessionId,
        after: i64,
    ) -> Result<Vec<UndoMark>, StoreError> {
        let connection = self.connection();
        let mut select = connection.prepare_cached(&format!(
            "SELECT seq, body FROM records INDEXED BY changes WHERE session = ?1 AND seq > ?2
             AND {CHANGES} AND kind = 'undid' ORDER BY seq",
        ))?;
        let mut rows = select.query(params![session.as_str(), after])?;
        let mut marks = Vec::new();
        while let Some(row) = rows.next()? {
            let body: String = row.get(1)?;
            if let Record::Undid { call, of } = serde_json::from_str(&body)? {
                marks.push(UndoMark { seq: row.get(0)?, call, of });
            }
        }
        Ok(marks)
    }
}
