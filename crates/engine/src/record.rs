//! Recording: the events of a call in the journal, each before the next step.
//!
//! Law: before a call runs that may change anything, the journal says so; before the next one runs,
//! the journal has its result (FR-RES-04b). What cannot be recorded does not run. That a call starts
//! which only reads goes with its result: nothing can have come of one that has none.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jm_process::spool::SpoolDir;
use jm_store::{
    CallRecord, Entry as Append, Journal, MessageRecord, Owner, Record, StoreError, StoredOutput,
    StoredResult,
};
use jm_system::fault::crash_point;
use jm_types::{BatchNumber, CallKey, ErrorKind, ReadRecord, ToolError, ToolResult, Verdict};
use serde_json::Value;

use crate::batch::{ArgumentEdit, Batch, CallEntry, CallStatus, Journaled};

/// The folder of outputs, and how much of them is kept.
#[derive(Debug)]
pub struct Outputs {
    /// The folder in which outputs are written as they come.
    pub spools: SpoolDir,
    /// Bytes of one stream of one call.
    pub each: u64,
    /// Bytes of all of them, as they are stored.
    pub all: u64,
}

/// The journal of a running session, or none at all (`--no-journal`).
pub struct CallRecorder {
    journal: Option<Journal>,
    process: Owner,
    approver: Mutex<String>,
    /// Gives back the space that was kept free for the record of a full disk.
    reserve: Mutex<Option<Box<dyn FnOnce() + Send>>>,
    /// Records that go with the next write.
    later: Mutex<PendingRecords>,
    pub(crate) outputs: Option<Outputs>,
}

/// Records that need no write of their own, and the long texts among them.
#[derive(Debug, Default)]
struct PendingRecords {
    records: Vec<Record>,
    texts: Vec<String>,
    reads: Vec<(PathBuf, ReadRecord)>,
}

impl std::fmt::Debug for CallRecorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder").field("journal", &self.journal).finish_non_exhaustive()
    }
}

impl CallRecorder {
    /// A recorder without a journal.
    pub fn none() -> Self {
        let process = Owner { pid: 0, started: 0, boot: String::new() };
        let (reserve, later) = (Mutex::new(None), Mutex::default());
        let approver = Mutex::default();
        Self { journal: None, process, approver, reserve, later, outputs: None }
    }

    /// `approver` says who answers prompts: a person, or a flag.
    pub fn new(
        journal: Journal,
        process: Owner,
        approver: impl Into<String>,
        reserve: Option<Box<dyn FnOnce() + Send>>,
    ) -> Self {
        let reserve = Mutex::new(reserve);
        let (journal, approver) = (Some(journal), Mutex::new(approver.into()));
        let later = Mutex::default();
        Self { journal, process, approver, reserve, later, outputs: None }
    }

    /// From now on whole outputs are kept.
    #[must_use]
    pub fn keeping(self, outputs: Outputs) -> Self {
        Self { outputs: Some(outputs), ..self }
    }

    /// From here on somebody else answers.
    pub fn answers_come_from(&self, approver: impl Into<String>) {
        *self.approver.lock().unwrap_or_else(PoisonError::into_inner) = approver.into();
    }

    fn approver(&self) -> String {
        self.approver.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The journal; `None` where nothing is kept.
    pub fn journal(&self) -> Option<&Journal> {
        self.journal.as_ref()
    }

    /// Makes records durable; on a full disk, once more with the space that was kept for it.
    pub(crate) fn append(&self, entry: &Append<'_>) -> Result<(), ToolError> {
        let Some(journal) = &self.journal else { return Ok(()) };
        let _span = tracing::info_span!("record", records = entry.records.len()).entered();
        let mut later = self.later();
        let write = || later.with(entry, |entry| journal.append(entry));
        let mut outcome = write();
        if outcome.as_ref().is_err_and(StoreError::is_full) && self.free_reserve() {
            outcome = write();
        }
        outcome.map_err(|error| unrecorded(&error))?;
        *later = PendingRecords::default();
        Ok(())
    }

    fn later(&self) -> MutexGuard<'_, PendingRecords> {
        self.later.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn free_reserve(&self) -> bool {
        let reserve = self.reserve.lock().unwrap_or_else(PoisonError::into_inner).take();
        reserve.map(|free| free()).is_some()
    }

    /// Now, or with the next write.
    fn note(&self, records: Vec<Record>, can_wait: bool) -> Result<(), ToolError> {
        if can_wait && self.journal.is_some() {
            self.later().records.extend(records);
            return Ok(());
        }
        self.append(&Append { records, ..Append::default() })
    }

    fn append_records(&self, records: Vec<Record>) -> Result<(), ToolError> {
        self.append(&Append { records, ..Append::default() })
    }

    /// The calls as they came, what was decided about each, and, where nobody is asked, that the
    /// first one starts: one write instead of two.
    pub(crate) fn batch_opened(
        &self,
        batch: &Batch,
        first: Option<&CallEntry>,
    ) -> Result<(), ToolError> {
        crash_point("batch.before");
        let new = batch.entries.iter().filter(|entry| entry.journaled < Journaled::Call);
        let calls: Vec<_> = new.map(call_record).collect();
        let mut records = Vec::new();
        if !calls.is_empty() || batch.entries.is_empty() {
            records.push(Record::BatchOpened { batch: batch.number, calls });
        }
        for entry in &batch.entries {
            records.push(planned(entry));
            if let CallStatus::Done(result) = &entry.status {
                records.push(finished(entry, result));
            }
        }
        if batch.is_finished() {
            records.push(Record::BatchSealed { batch: batch.number });
        } else if batch.awaits_results() {
            records.push(Record::BatchWaits { batch: batch.number });
        }
        records.extend(first.map(|entry| self.start_of(entry)));
        // The calls themselves are there since they came, and none has a result yet.
        let can_wait = first.is_some_and(|entry| entry.only_reads)
            && batch
                .entries
                .iter()
                .all(|entry| entry.journaled >= Journaled::Call && entry.result().is_none());
        if can_wait {
            self.note(records, can_wait)?;
        } else {
            self.append(&Append { records, reads: seen(&batch.entries), ..Append::default() })?;
        }
        crash_point("batch.after");
        Ok(())
    }

    /// A call as it came in the model's stream, before its message is whole, and what the model had said before it
    /// (FR-RES-04a). It goes with the next write, or with `received`: calls that come together share one.
    pub(crate) fn say_received(&self, batch: BatchNumber, entry: &CallEntry, said: Vec<Value>) {
        let calls = vec![call_record(entry)];
        let received = Record::Received { batch, said };
        if self.journal.is_some() {
            self.later().records.extend([received, Record::BatchOpened { batch, calls }]);
        }
    }

    /// Writes down the calls that came.
    pub(crate) fn received(&self) -> Result<(), ToolError> {
        crash_point("call.before_received");
        self.flush()?;
        crash_point("call.after_received");
        Ok(())
    }

    /// Something that was said. It goes with the next write, or with `flush`.
    pub(crate) fn say(&self, message: MessageRecord) -> Result<(), ToolError> {
        if self.journal.is_some() {
            let (records, texts) =
                jm_store::as_records(&[message]).map_err(|error| unrecorded(&error))?;
            let mut later = self.later();
            later.records.extend(records);
            later.texts.extend(texts);
        }
        Ok(())
    }

    /// The results have gone to the model; this too goes with the next write.
    pub(crate) fn say_delivered(&self, batch: BatchNumber) {
        self.later().records.push(Record::Delivered { batch });
    }

    /// The tokens that a response has used; this too goes with the next write.
    pub(crate) fn say_used(&self, used: Record) {
        if self.journal.is_some() {
            self.later().records.push(used);
        }
    }

    /// Records that a prepared change never was; this too goes with the next write.
    pub(crate) fn say_withdrawn(&self, call: CallKey) {
        self.later().records.push(Record::Withdrawn { call });
    }

    /// Writes down the records that wait.
    pub(crate) fn flush(&self) -> Result<(), ToolError> {
        if self.later().records.is_empty() { Ok(()) } else { self.append_records(Vec::new()) }
    }

    /// From here on the calls may have effects, unless they only read; each with what a person approved.
    pub(crate) fn started(&self, starts: &[(&CallEntry, Option<String>)]) -> Result<(), ToolError> {
        if starts.is_empty() {
            return Ok(());
        }
        crash_point("call.before_started");
        let can_wait =
            starts.iter().all(|(entry, approved)| entry.only_reads && approved.is_none());
        let mut records = Vec::new();
        for (entry, approved) in starts {
            records.extend(approved.clone().map(|fingerprint| {
                let (call, by) = (entry.key.clone(), self.approver());
                Record::Approved { call, by, fingerprint }
            }));
            records.push(self.start_of(entry));
        }
        self.note(records, can_wait)?;
        crash_point("call.after_started");
        Ok(())
    }

    /// Records that a person agreed to what a call has done.
    pub(crate) fn approved(&self, call: &CallKey, fingerprint: String) -> Result<(), ToolError> {
        let (call, by) = (call.clone(), self.approver());
        self.append_records(vec![Record::Approved { call, by, fingerprint }])
    }

    fn start_of(&self, entry: &CallEntry) -> Record {
        Record::Started { call: entry.key.clone(), process: self.process.clone() }
    }

    pub(crate) fn finished(
        &self,
        batch: &Batch,
        entry: &CallEntry,
        seen: Vec<(PathBuf, ReadRecord)>,
        output: Option<StoredOutput>,
    ) -> Result<(), ToolError> {
        let Some(result) = entry.result() else { return Ok(()) };
        crash_point("call.before_finished");
        let kept = StoredResult { output, ..StoredResult::new(result, seen.clone()) };
        let blobs = kept.content_blob.iter().map(|_| result.content.as_bytes()).collect();
        let (call, duration_ms) = (entry.key.clone(), entry.duration_ms);
        let mut records = vec![Record::Finished { call, result: kept, duration_ms }];
        if batch.is_finished() {
            records.push(Record::BatchSealed { batch: batch.number });
        }
        self.append(&Append { records, blobs, reads: seen, ..Append::default() })?;
        crash_point("call.after_finished");
        Ok(())
    }

    /// The result of a call that only read, which goes with the next write.
    pub(crate) fn finished_later(
        &self,
        entry: &CallEntry,
        seen: Vec<(PathBuf, ReadRecord)>,
    ) -> Result<(), ToolError> {
        let Some(result) = entry.result().filter(|_| self.journal.is_some()) else { return Ok(()) };
        let kept = StoredResult::new(result, seen.clone());
        let mut later = self.later();
        later.texts.extend(kept.content_blob.iter().map(|_| result.content.clone()));
        let (call, duration_ms) = (entry.key.clone(), entry.duration_ms);
        later.records.push(Record::Finished { call, result: kept, duration_ms });
        later.reads.extend(seen);
        Ok(())
    }

    /// The arguments that a person wrote instead of the model's, and what was decided about them.
    pub(crate) fn edited(&self, batch: &Batch) -> Result<(), ToolError> {
        let edited = batch.entries.iter().filter(|entry| entry.edit == ArgumentEdit::New);
        let records = edited.flat_map(|entry| {
            let (call, arguments) = (entry.key.clone(), entry.call.arguments.clone());
            [Record::Edited { call, by: self.approver(), arguments }, planned(entry)]
        });
        let records: Vec<Record> = records.collect();
        if records.is_empty() { Ok(()) } else { self.append_records(records) }
    }

    /// Results for calls that never ran: denied, refused or cancelled after the batch was recorded.
    pub(crate) fn answered(&self, batch: &Batch, keys: &[CallKey]) -> Result<(), ToolError> {
        let named = batch.entries.iter().filter(|entry| keys.contains(&entry.key));
        let reads = seen(named.clone());
        let mut records: Vec<Record> =
            named.filter_map(|entry| Some(finished(entry, entry.result()?))).collect();
        if records.is_empty() {
            return Ok(());
        }
        if batch.is_finished() {
            records.push(Record::BatchSealed { batch: batch.number });
        }
        self.append(&Append { records, reads, ..Append::default() })
    }

    /// The results have been given to whoever asked.
    pub fn delivered(&self, batch: BatchNumber) -> Result<(), ToolError> {
        crash_point("batch.before_delivered");
        self.append_records(vec![Record::Delivered { batch }])?;
        crash_point("batch.after_delivered");
        Ok(())
    }

    pub(crate) fn records(&self, records: Vec<Record>) -> Result<(), ToolError> {
        self.append_records(records)
    }

    /// Gives the session back, and says with it that the results of a batch were delivered.
    pub fn close(self, delivered: Option<BatchNumber>) -> Result<(), StoreError> {
        let Some(journal) = &self.journal else { return Ok(()) };
        crash_point("batch.before_delivered");
        let records = delivered.map(|batch| Record::Delivered { batch }).into_iter().collect();
        let last = Append { records, ..Append::default() };
        let close = || self.later().with(&last, |last| journal.close(last));
        let outcome = match close() {
            Err(error) if error.is_full() && self.free_reserve() => close(),
            outcome => outcome,
        };
        crash_point("batch.after_delivered");
        outcome
    }
}

impl PendingRecords {
    /// The entry with what waited for it.
    fn with<T>(&self, entry: &Append<'_>, write: impl FnOnce(&Append<'_>) -> T) -> T {
        if self.records.is_empty() {
            return write(entry);
        }
        let records = self.records.iter().chain(&entry.records).cloned().collect();
        let texts = self.texts.iter().map(String::as_bytes);
        let blobs = texts.chain(entry.blobs.iter().copied()).collect();
        let reads = self.reads.iter().chain(&entry.reads).cloned().collect();
        let index = entry.index.clone();
        write(&Append { records, blobs, reads, index, order: entry.order })
    }
}

fn unrecorded(error: &StoreError) -> ToolError {
    let failed = ToolError::new(ErrorKind::Unrecorded { message: error.to_string() });
    error.hint().into_iter().fold(failed, ToolError::hint)
}

/// Why something could not be recorded, without the claim that it was not done.
pub(crate) fn reason(error: &ToolError) -> String {
    match &error.kind {
        ErrorKind::Unrecorded { message } => message.clone(),
        other => other.to_string(),
    }
}

/// For what was done already when it could not be recorded.
pub(crate) fn done_unrecorded(what: &str, error: ToolError) -> ToolError {
    let failed = format!("completed, but this could not be recorded: {}", reason(&error));
    error.hints.into_iter().fold(ToolError::failed(what, failed), ToolError::hint)
}

fn call_record(entry: &CallEntry) -> CallRecord {
    CallRecord {
        call: entry.key.clone(),
        id: entry.call.id.clone(),
        name: entry.call.name.clone(),
        arguments: entry.call.arguments.clone(),
    }
}

fn planned(entry: &CallEntry) -> Record {
    let verdict = match &entry.status {
        CallStatus::Pending(_) | CallStatus::Waiting => Verdict::Ask,
        CallStatus::Done(_) => Verdict::Deny,
        CallStatus::New | CallStatus::Approved { .. } | CallStatus::Running => Verdict::Allow,
    };
    Record::Planned {
        call: entry.key.clone(),
        verdict,
        rule: entry.rule.clone(),
        summary: entry.summary.clone(),
        risk: entry.risk,
    }
}

/// The files that the refusals among these have shown.
fn seen<'a>(entries: impl IntoIterator<Item = &'a CallEntry>) -> Vec<(PathBuf, ReadRecord)> {
    let refused = entries.into_iter().filter(|entry| entry.result().is_some());
    refused.flat_map(|entry| entry.seen.clone()).collect()
}

fn finished(entry: &CallEntry, result: &ToolResult) -> Record {
    Record::Finished {
        call: entry.key.clone(),
        result: StoredResult::new(result, entry.seen.clone()),
        duration_ms: entry.duration_ms,
    }
}

#[cfg(test)]
mod tests {
    use jm_system::clock::now_epoch_ms;
    use jm_types::ToolCall;
    use serde_json::json;

    use super::*;

    /// The journal as another program would see it now: is the call started, has it a result?
    fn on_disk(recorder: &CallRecorder) -> (bool, bool) {
        let calls = recorder.journal().unwrap().store().calls(&"s".into()).unwrap();
        (calls[0].started().is_some(), calls[0].result().is_some())
    }

    /// The record of a start waits for the result where a call only reads, and nowhere else.
    #[test]
    fn only_the_start_of_a_read_can_wait() {
        for only_reads in [true, false] {
            let scratch = tempfile::tempdir().unwrap();
            let path = scratch.path().join("journal.db");
            let owner = Owner { pid: 1, started: 1, boot: String::new() };
            let journal =
                Journal::open(&path, &"s".into(), scratch.path(), &owner, &|_| false, now_epoch_ms)
                    .unwrap();
            let recorder = CallRecorder::new(journal, owner, "nobody", None);
            let call = ToolCall::new("c", "tool", &json!({}));
            let mut entry =
                CallEntry { only_reads, ..CallEntry::new("s-1".to_owned().into(), call) };
            recorder.say_received(1.into(), &entry, Vec::new());
            recorder.received().unwrap();
            entry.journaled = Journaled::Call;
            entry.status = CallStatus::Approved { fingerprint: None };
            let mut batch = Batch { number: 1.into(), entries: vec![entry], ..Batch::default() };
            recorder.batch_opened(&batch, batch.entries.first()).unwrap();
            assert_eq!(on_disk(&recorder), (!only_reads, false));
            let done = crate::reply::as_it_is(&batch.entries[0].call, "done".to_owned());
            batch.entries[0].status = CallStatus::Done(done);
            recorder.finished(&batch, &batch.entries[0], Vec::new(), None).unwrap();
            assert_eq!(on_disk(&recorder), (true, true));
        }
    }
}
