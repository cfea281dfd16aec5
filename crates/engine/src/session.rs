//! A conversation's state with the tools: what was read, what waits, what was answered.
//!
//! Law: it is data. It can be saved at any pause and go on in another process.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use jm_tools::toolsets::STANDARD;
use jm_types::Freshness;
use jm_types::text::{sanitize, truncate};
use jm_types::{
    AnswerFault, AnsweredCall, ApprovalAnswer, ApprovalChoice, ApprovalQuestion, BatchNumber,
    CallKey, CallQuestion, DenialReason, ErrorKind, Limits, SessionId, ToolCall, ToolError,
    ToolResult,
};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::batch::{ApprovalDecision, Batch, CallEntry, CallStatus, ChosenFiles};
use crate::batch_ids::BatchIds;
use crate::reply::{self, ResultForm};
use crate::session_context::Asker;

/// Why the engine stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pause {
    /// Every call has its result.
    Finished,
    /// A person must decide; then run again.
    NeedsApproval,
    /// Tools are not run here; somebody supplies the results (FR-MODE-02).
    NeedsResults,
    /// The person stopped it; every call has its result, and nothing goes on by itself.
    Cancelled,
}

/// A conversation's state with the tools, saved at any pause.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Session {
    /// The name in the journal.
    pub id: SessionId,
    freshness: Arc<Freshness>,
    batch: Batch,
    /// Needed only while the calls of a batch come in.
    #[serde(skip)]
    ids: BatchIds,
    /// Batches since the person last spoke (FR-RES-03).
    iterations: usize,
    /// Batches that the person has allowed since then, beyond the limit.
    #[serde(default)]
    granted_iterations: usize,
    calls: u64,
    batches: BatchNumber,
    /// How results look, as the engine last said.
    form: ResultForm,
    /// Somebody is there who can give a command more than it has.
    #[serde(default)]
    offers_grants: bool,
}

/// The reason why a session does not take something.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "each variant's message says it")]
pub enum SessionError {
    #[error("calls of the last batch have no results yet")]
    BatchOpen,
    #[error("no call with id {0} is waiting for this")]
    NotWaiting(String),
    #[error("two results for the call with id {0}")]
    SuppliedTwice(String),
    #[error(transparent)]
    Answer(AnswerFault),
}

impl Session {
    /// A session that has read nothing yet.
    pub fn new(id: impl Into<SessionId>) -> Self {
        Self {
            id: id.into(),
            freshness: Arc::default(),
            batch: Batch::default(),
            ids: BatchIds::default(),
            iterations: 0,
            granted_iterations: 0,
            calls: 0,
            batches: BatchNumber::default(),
            form: ResultForm { dialect: &STANDARD, limit: Limits::default().capacity_bytes },
            offers_grants: false,
        }
    }

    pub(crate) fn set_form(&mut self, form: ResultForm) {
        self.form = form;
    }

    /// A person is at the terminal: what confinement refuses a command is asked about, and with their
    /// word it runs again.
    pub fn offer_grants(&mut self) {
        self.offers_grants = true;
    }

    pub(crate) fn offers_grants(&self) -> bool {
        self.offers_grants
    }

    pub(crate) fn form(&self) -> ResultForm {
        self.form
    }

    /// A session that goes on: what it has read, and how many calls and batches it has had.
    pub fn restore(
        id: impl Into<SessionId>,
        freshness: Freshness,
        calls: u64,
        batches: u64,
    ) -> Self {
        let batches = BatchNumber::new(batches);
        Self { freshness: Arc::new(freshness), calls, batches, ..Self::new(id) }
    }

    /// The files that the model knows.
    pub fn freshness(&self) -> &Arc<Freshness> {
        &self.freshness
    }

    /// The session's part of a call's context.
    pub(crate) fn asker(&self) -> Asker {
        Asker { session: self.id.clone(), freshness: Arc::clone(&self.freshness) }
    }

    pub(crate) fn freshness_mut(&mut self) -> &mut Freshness {
        Arc::make_mut(&mut self.freshness)
    }

    /// The calls of the last message.
    pub fn batch(&self) -> &Batch {
        &self.batch
    }

    pub(crate) fn batch_mut(&mut self) -> &mut Batch {
        &mut self.batch
    }

    /// Batches since the person last spoke.
    pub fn iterations(&self) -> usize {
        self.iterations
    }

    /// The person spoke: the iteration limit counts anew.
    pub fn begin_turn(&mut self) {
        self.iterations = 0;
        self.granted_iterations = 0;
    }

    /// The person allows so many batches more in this turn.
    pub fn grant_iterations(&mut self, more: usize) {
        self.granted_iterations = self.granted_iterations.saturating_add(more);
    }

    /// A turn's limit of batches, with what the person has granted besides.
    pub fn iterations_allowed(&self, limit: usize) -> usize {
        limit.saturating_add(self.granted_iterations)
    }

    /// How many batches there were beyond that.
    pub fn iterations_beyond(&self, limit: usize) -> usize {
        self.iterations.saturating_sub(self.iterations_allowed(limit))
    }

    /// Goes on with a batch that waits for results from outside, `iterations` batches after the
    /// person last spoke.
    pub fn await_results(&mut self, batch: Batch, iterations: usize) {
        self.batch = batch;
        self.iterations = iterations;
    }

    /// Hands over the calls of one assistant message, in order.
    pub fn submit(&mut self, calls: Vec<ToolCall>) -> Result<(), SessionError> {
        self.begin_batch()?;
        self.ids.expect(&calls);
        for call in calls {
            self.receive(call);
        }
        Ok(())
    }

    /// From here on calls come in one by one.
    pub(crate) fn begin_batch(&mut self) -> Result<(), SessionError> {
        if !self.batch.is_finished() {
            return Err(SessionError::BatchOpen);
        }
        self.iterations += 1;
        self.batches = self.batches.next();
        self.batch = Batch { number: self.batches, ..Batch::default() };
        self.ids = BatchIds::default();
        Ok(())
    }

    /// The next call of the batch.
    pub(crate) fn receive(&mut self, call: ToolCall) -> &mut CallEntry {
        let entry = self.entry(call);
        self.batch.entries.push(entry);
        let last = self.batch.entries.len() - 1;
        &mut self.batch.entries[last]
    }

    /// A batch of our own, such as an undo: its number, and the key of its one call.
    pub(crate) fn begin_own(&mut self) -> (BatchNumber, CallKey) {
        self.batches = self.batches.next();
        self.calls += 1;
        (self.batches, CallKey::of(&self.id, self.calls))
    }

    fn entry(&mut self, mut call: ToolCall) -> CallEntry {
        self.calls += 1;
        let key = CallKey::of(&self.id, self.calls);
        call.id = self.ids.take(call.id, self.calls);
        CallEntry::new(key, call)
    }

    /// The question about everything that is pending; `None` where nothing is.
    pub fn question(&self) -> Option<ApprovalQuestion> {
        let calls: Vec<CallQuestion> = self.batch.pending().cloned().collect();
        // It speaks of all of them: with fewer left it would not be true.
        let diff = self.batch.combined.clone().filter(|_| calls.len() > 1);
        (!calls.is_empty()).then_some(ApprovalQuestion { calls, diff })
    }

    /// The same answer for all that is pending, or for some. Ids that nobody asked about are an error, and
    /// then nothing is decided.
    pub fn decide(&mut self, decision: &ApprovalDecision) -> Result<(), SessionError> {
        let Some(question) = self.question() else {
            return match decision {
                ApprovalDecision::ApproveSelected(ids) if !ids.is_empty() => {
                    Err(SessionError::NotWaiting(ids[0].clone()))
                }
                _ => Ok(()),
            };
        };
        let answer = match decision {
            ApprovalDecision::ApproveAll => question.answer_all(&ApprovalChoice::Once),
            ApprovalDecision::DenyAll => question.answer_all(&ApprovalChoice::No { reason: None }),
            ApprovalDecision::ApproveSelected(ids) => {
                let ids: BTreeSet<&String> = ids.iter().collect();
                let once = |id: &String| AnsweredCall::new(id, ApprovalChoice::Once);
                ApprovalAnswer { calls: ids.into_iter().map(once).collect() }
            }
        };
        self.answer(&answer)
    }

    /// Takes the answer to the question. What it leaves out is denied, unless it edits a call: then what it
    /// leaves out is planned and asked about anew, together with that one. A layer without an answer stays set aside. An answer that does not fit the
    /// question decides nothing. Storing the rules of "always" is up to whoever asked.
    pub fn answer(&mut self, answer: &ApprovalAnswer) -> Result<(), SessionError> {
        self.question().unwrap_or_default().check(answer).map_err(|fault| match fault {
            AnswerFault::NotAsked(id) => SessionError::NotWaiting(id),
            fault => SessionError::Answer(fault),
        })?;
        let is_edit = |call: &AnsweredCall| matches!(call.choice, ApprovalChoice::Edit { .. });
        let edits = answer.calls.iter().any(is_edit);
        let form = self.form;
        for entry in &mut self.batch.entries {
            let CallStatus::Pending(request) = &entry.status else { continue };
            let is_left_out = !answer.calls.iter().any(|call| call.id == request.id);
            if edits && is_left_out {
                if entry.refusal.is_none() {
                    entry.plan_anew();
                }
                continue;
            }
            if is_left_out && entry.is_on_layer() {
                entry.refuse(form, &ToolError::cancelled());
                continue;
            }
            take_choice(entry, answer.choice(&entry.call.id), form);
        }
        Ok(())
    }

    /// Answers what is pending with an error, because nobody can be asked.
    pub fn refuse_pending(&mut self, error: impl Fn(&CallQuestion) -> ToolError) {
        let form = self.form;
        for entry in &mut self.batch.entries {
            if let CallStatus::Pending(request) = &entry.status {
                let error = error(request);
                entry.refuse(form, &error);
            }
        }
    }

    /// Answers calls that wait for somebody's results, because nobody supplies any.
    pub fn refuse_waiting(&mut self) {
        let form = self.form;
        for entry in &mut self.batch.entries {
            if let CallStatus::Waiting = entry.status {
                let error = ToolError::new(ErrorKind::NotRunHere);
                entry.status = CallStatus::Done(reply::refused(form, &entry.call, &error));
            }
        }
    }

    /// The place of the call that waits under this id.
    fn waiting_place(&self, call_id: &str) -> Result<usize, SessionError> {
        let waits = |entry: &CallEntry| {
            entry.call.id == call_id && matches!(entry.status, CallStatus::Waiting)
        };
        let place = self.batch.entries.iter().position(waits);
        place.ok_or_else(|| SessionError::NotWaiting(call_id.to_owned()))
    }

    /// Every id names a call that waits, and each only once.
    pub fn check_supplied<'a>(
        &self,
        ids: impl IntoIterator<Item = &'a str>,
    ) -> Result<(), SessionError> {
        let mut known = HashSet::new();
        for id in ids {
            self.waiting_place(id)?;
            if !known.insert(id) {
                return Err(SessionError::SuppliedTwice(id.to_owned()));
            }
        }
        Ok(())
    }

    /// Takes a result that was produced outside, within the limit of every result (FR-OUT-04). Gives
    /// the place of its call in the batch.
    pub fn supply(&mut self, call_id: &str, content: String) -> Result<usize, SessionError> {
        let place = self.waiting_place(call_id)?;
        let content = truncate(content, self.form.limit);
        let entry = &mut self.batch.entries[place];
        entry.status = CallStatus::Done(ToolResult {
            call_id: call_id.to_owned(),
            name: entry.call.name.clone(),
            display: sanitize(&content),
            content,
            error: None,
        });
        Ok(place)
    }

    /// The results in call order, once all are there.
    pub fn results(&self) -> Option<Vec<&ToolResult>> {
        self.batch.entries.iter().map(CallEntry::result).collect()
    }
}

/// Gives a pending call the status that follows from the person's choice.
fn take_choice(entry: &mut CallEntry, choice: ApprovalChoice, form: ResultForm) {
    let CallStatus::Pending(request) = &entry.status else { return };
    let fingerprint = Some(request.fingerprint.clone());
    if let Some(refusal) = &mut entry.refusal {
        // Asked about once more: whatever the answer, it goes on to its end.
        let keeps = matches!(choice, ApprovalChoice::Once | ApprovalChoice::KeepSome { .. });
        refusal.is_granted = keeps;
        match (&mut refusal.held, choice) {
            (Some(held), ApprovalChoice::No { reason }) => held.reason = reason,
            (Some(held), ApprovalChoice::KeepSome { paths }) => {
                held.chosen = Some(ChosenFiles { paths, question: request.clone() });
            }
            _ => {}
        }
        entry.status = CallStatus::Approved { fingerprint: None };
        return;
    }
    match choice {
        ApprovalChoice::Once | ApprovalChoice::Always { .. } => {
            entry.status = CallStatus::Approved { fingerprint };
        }
        ApprovalChoice::No { reason } => {
            entry.refuse(form, &ToolError::from(DenialReason::DeniedByPerson { reason }));
        }
        ApprovalChoice::Edit { arguments } => entry.take_edit(arguments),
        // Offered for a layer alone: an answer that chooses it elsewhere is refused before.
        ApprovalChoice::KeepSome { .. } => {}
    }
}
