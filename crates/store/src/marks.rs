//! Session marks: the columns of a session that follow from its records.
//!
//! Law: they are computed here only, when a record is written and when the journal is verified.

use crate::Record;

/// Counts and places that a session's records add up to.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Marks {
    pub(crate) calls: i64,
    pub(crate) batches: i64,
    /// The record that opened the last batch, and the one that sealed it.
    pub(crate) opened_at: i64,
    pub(crate) sealed_at: i64,
    /// The batch that waits for results from outside, and the record that opened it; 0 where none does.
    pub(crate) waiting: (i64, i64),
    /// The last record of what the session is worked with.
    pub(crate) opening: Option<Record>,
}

impl Marks {
    /// Counts the record in.
    pub(crate) fn note(&mut self, seq: i64, record: &Record) {
        match record {
            Record::BatchOpened { batch, calls } => {
                // A batch whose calls come in one by one is opened by the first of them.
                let batch = i64::try_from(batch.get()).unwrap_or(i64::MAX);
                if self.batches != batch || self.sealed_at > self.opened_at {
                    self.opened_at = seq;
                }
                self.batches = batch;
                self.calls += i64::try_from(calls.len()).unwrap_or(i64::MAX);
            }
            // A crash leaves nothing of it to be recovered.
            Record::BatchWaits { batch } => {
                self.sealed_at = seq;
                self.waiting = (i64::try_from(batch.get()).unwrap_or(i64::MAX), self.opened_at);
            }
            Record::BatchSealed { batch } => {
                self.sealed_at = seq;
                if i64::try_from(batch.get()) == Ok(self.waiting.0) {
                    self.waiting = (0, 0);
                }
            }
            Record::SessionOpened { .. } => self.opening = Some(record.clone()),
            Record::Message { .. }
            | Record::Received { .. }
            | Record::Planned { .. }
            | Record::Edited { .. }
            | Record::Approved { .. }
            | Record::Started { .. }
            | Record::Prepared { .. }
            | Record::Layered { .. }
            | Record::Withdrawn { .. }
            | Record::Tracked { .. }
            | Record::Finished { .. }
            | Record::Delivered { .. }
            | Record::Recovered { .. }
            | Record::Undid { .. } => {}
        }
    }
}
