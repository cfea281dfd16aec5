//! Messages of a conversation, and the results of its calls: all that going on with it needs.
//!
//! Law: content is data, given back exactly as it came; nothing here reads it. Only a message that was
//! never whole is put together, from the records of its words and calls.

use std::collections::HashSet;

use jm_types::{BatchNumber, CallKey, Digest, Part, SessionId, ToolCall};
use rusqlite::{OptionalExtension, params};
use serde_json::Value;

use crate::journal::{Entry, Journal};
use crate::record::{CallRecord, INLINE, Record, Speaker, StoredResult};
use crate::{Store, StoreError};

/// A message to be remembered.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageRecord {
    /// The speaker.
    pub role: Speaker,
    /// The parts of the message, as the engine's JSON.
    pub content: Value,
    /// The batch whose calls it makes, or whose results it carries.
    pub batch: Option<BatchNumber>,
}

/// A message as it is remembered.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageView {
    /// Its place among the session's records.
    pub seq: i64,
    /// Milliseconds since the epoch.
    pub at: u64,
    /// The message itself.
    pub message: MessageRecord,
}

/// The records of messages, and the texts of the long ones.
pub fn as_records(messages: &[MessageRecord]) -> Result<(Vec<Record>, Vec<String>), StoreError> {
    let mut records = Vec::new();
    let mut long = Vec::new();
    for message in messages {
        let text = serde_json::to_string(&message.content)?;
        records.push(record(message, &text));
        if is_long(&text) {
            long.push(text);
        }
    }
    Ok((records, long))
}

impl Journal {
    /// Messages in order, all of them or none.
    pub fn remember(&self, messages: &[MessageRecord]) -> Result<(), StoreError> {
        let (records, texts) = as_records(messages)?;
        let blobs = texts.iter().map(String::as_bytes).collect();
        self.append(&Entry { records, blobs, ..Entry::default() })
    }
}

fn is_long(text: &str) -> bool {
    text.len() > INLINE
}

fn record(message: &MessageRecord, text: &str) -> Record {
    let long = is_long(text);
    Record::Message {
        role: message.role,
        content: (!long).then(|| message.content.clone()),
        content_blob: long.then(|| Digest::of(text.as_bytes())),
        batch: message.batch,
    }
}

impl Store {
    /// The messages of a session, in order. One that a crash cut off is there as far as it came.
    pub fn messages(&self, session: &SessionId) -> Result<Vec<MessageView>, StoreError> {
        self.with_unfinished(session, 0, self.views(self.said(session)?)?)
    }

    /// True if the session has a message of either side.
    pub fn has_messages(&self, session: &SessionId) -> Result<bool, StoreError> {
        let connection = self.connection();
        let mut select = connection.prepare_cached(
            "SELECT 1 FROM records INDEXED BY said WHERE session = ?1
             AND kind IN ('session_opened', 'message') AND kind = 'message'
             AND coalesce(json_extract(body, '$.content.history'), '') <> '[]' LIMIT 1",
        )?;
        select.exists([session.as_str()]).map_err(Into::into)
    }

    /// The same, from the last time on that what was said before was put in other words.
    pub fn messages_since_summary(
        &self,
        session: &SessionId,
    ) -> Result<Vec<MessageView>, StoreError> {
        self.messages_before(session, i64::MAX)
    }

    /// The same, as it was before a record.
    pub fn messages_before(
        &self,
        session: &SessionId,
        before: i64,
    ) -> Result<Vec<MessageView>, StoreError> {
        let mut said = self.said(session)?;
        said.retain(|(seq, ..)| *seq < before);
        let is_summary =
            |record: &Record| matches!(record, Record::Message { role: Speaker::System, .. });
        let last = said.iter().rposition(|(_, _, record)| is_summary(record));
        let said = said.split_off(last.unwrap_or(0));
        let first = said.first().map_or(0, |(seq, ..)| *seq);
        let mut views = self.with_unfinished(session, first, self.views(said)?)?;
        views.retain(|view| view.seq < before);
        Ok(views)
    }

    /// Adds the messages of which only calls, and the words before them, were recorded.
    fn with_unfinished(
        &self,
        session: &SessionId,
        after: i64,
        mut views: Vec<MessageView>,
    ) -> Result<Vec<MessageView>, StoreError> {
        let whole: HashSet<BatchNumber> =
            views.iter().filter_map(|view| view.message.batch).collect();
        let mut known = HashSet::new();
        for (seq, at, batch) in self.received(session, after)? {
            if whole.contains(&batch) || !known.insert(batch) {
                continue;
            }
            let content = Value::Array(self.parts_received(session, seq, batch)?);
            let message = MessageRecord { role: Speaker::Assistant, content, batch: Some(batch) };
            let place = views.partition_point(|view| view.seq < seq);
            views.insert(place, MessageView { seq, at, message });
        }
        Ok(views)
    }

    /// The places of calls in a model's stream: number, time, batch.
    pub(crate) fn received(
        &self,
        session: &SessionId,
        after: i64,
    ) -> Result<Vec<(i64, u64, BatchNumber)>, StoreError> {
        let connection = self.connection();
        let mut select = connection.prepare_cached(
            "SELECT seq, at, json_extract(body, '$.batch') FROM records INDEXED BY received
             WHERE session = ?1 AND kind = 'received' AND seq > ?2 ORDER BY seq",
        )?;
        let rows = select.query_map(params![session.as_str(), after], |row| {
            let batch = BatchNumber::new(row.get::<_, i64>(2)?.unsigned_abs());
            Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs(), batch))
        })?;
        rows.collect::<Result<_, _>>().map_err(Into::into)
    }

    /// A message as its records have it, from the first of them on: words and calls in the order in
    /// which they came.
    fn parts_received(
        &self,
        session: &SessionId,
        first: i64,
        batch: BatchNumber,
    ) -> Result<Vec<Value>, StoreError> {
        let mut parts = Vec::new();
        for (_, _, record) in self.records(session, first - 1)? {
            match record {
                Record::Received { batch: of, said } if of == batch => parts.extend(said),
                Record::BatchOpened { batch: of, calls } if of == batch => {
                    for CallRecord { id, name, arguments, .. } in calls {
                        let call = ToolCall { id, name, arguments };
                        parts.push(serde_json::to_value(Part::Call { call, native: None })?);
                    }
                }
                _ => {}
            }
        }
        Ok(parts)
    }

    fn views(&self, said: Vec<(i64, u64, Record)>) -> Result<Vec<MessageView>, StoreError> {
        let mut views = Vec::new();
        for (seq, at, record) in said {
            let Record::Message { role, content, content_blob, batch } = record else { continue };
            let content = match (content, content_blob) {
                (Some(content), _) => content,
                (None, Some(sha256)) => serde_json::from_slice(&self.blob(sha256)?)?,
                // JSON's `null` reads back as an absent one.
                (None, None) => Value::Null,
            };
            views.push(MessageView { seq, at, message: MessageRecord { role, content, batch } });
        }
        Ok(views)
    }

    /// The records about the session itself, without those about its calls: number, time, record.
    pub fn said(&self, session: &SessionId) -> Result<Vec<(i64, u64, Record)>, StoreError> {
        let connection = self.connection();
        let mut select = connection.prepare_cached(
            "SELECT seq, at, body FROM records INDEXED BY said WHERE session = ?1
             AND kind IN ('session_opened', 'message') ORDER BY seq",
        )?;
        let mut rows = select.query([session.as_str()])?;
        let mut said = Vec::new();
        while let Some(row) = rows.next()? {
            let body: String = row.get(2)?;
            let at = row.get::<_, i64>(1)?.unsigned_abs();
            said.push((row.get(0)?, at, serde_json::from_str(&body)?));
        }
        Ok(said)
    }

    /// The result of a call that counts, by the call's key.
    pub fn result(&self, call: &CallKey) -> Result<Option<StoredResult>, StoreError> {
        let connection = self.connection();
        let mut select = connection.prepare_cached(
            "SELECT body FROM records WHERE call = ?1 AND kind = 'finished'
             ORDER BY seq DESC LIMIT 1",
        )?;
        let body: Option<String> =
            select.query_row(params![call.as_str()], |row| row.get(0)).optional()?;
        let record = body.map(|body| serde_json::from_str::<Record>(&body)).transpose()?;
        Ok(record.and_then(|record| match record {
            Record::Finished { result, .. } => Some(result),
            _ => None,
        }))
    }

    /// The result that the model was given, whole.
    pub fn content(&self, result: &StoredResult) -> Result<String, StoreError> {
        match (&result.content, result.content_blob) {
            (Some(content), _) => Ok(content.clone()),
            (None, Some(sha256)) => Ok(String::from_utf8_lossy(&self.blob(sha256)?).into_owned()),
            (None, None) => Ok(String::new()),
        }
    }
}
