//! The calls of one assistant message, each with its state.
//!
//! Law: entries stay in call order, and each ends with exactly one result (NFR-REL-01).

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jm_process::confine::Grant;
use jm_store::StoredOutput;
use jm_tools::Prepared;
use jm_types::{
    BatchNumber, CallKey, CallQuestion, Digest, ReadRecord, RiskLevel, ToolCall, ToolError,
    ToolResult,
};
use serde::{Deserialize, Serialize};

use crate::reply::{self, ResultForm};

/// The calls of one assistant message.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Batch {
    /// Which one of the session, from 1.
    pub number: BatchNumber,
    /// The journal holds its calls.
    pub is_recorded: bool,
    /// The calls, in the order of the message.
    pub entries: Vec<CallEntry>,
    /// The changes of its pending calls together, where one builds on another.
    #[serde(default)]
    pub combined: Option<String>,
}

/// One call with its state.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CallEntry {
    /// Our own name for the call; providers repeat theirs.
    pub key: CallKey,
    /// The call as it runs, with a person's edit.
    pub call: ToolCall,
    /// The step that it has reached.
    pub status: CallStatus,
    /// Which rule gave the verdict, for whoever asks why.
    pub rule: String,
    /// One line for people.
    pub summary: String,
    /// The risk level; `None` for a call that was refused unread.
    pub risk: Option<RiskLevel>,
    /// Milliseconds without the person's time for an answer.
    pub duration_ms: u64,
    /// Its tool changes nothing and runs nothing.
    #[serde(default)]
    pub only_reads: bool,
    /// It is a command that confinement keeps to reading.
    #[serde(default)]
    pub inspects: bool,
    /// Its command runs unasked, and the changes are asked about when it has ended.
    #[serde(default)]
    pub is_asked_afterwards: bool,
    /// The preview that goes with the question.
    #[serde(default)]
    pub shown: Option<String>,
    /// Files that its refusal has shown, which count as read.
    #[serde(default)]
    pub seen: Vec<(PathBuf, ReadRecord)>,
    /// The files that the preview was computed from.
    #[serde(default)]
    pub shown_files: Vec<(PathBuf, Option<Digest>)>,
    /// Other arguments that a person wrote, and if the journal holds them.
    #[serde(default)]
    pub edit: ArgumentEdit,
    /// It ran, and confinement refused it something that a person may give it.
    #[serde(default)]
    pub refusal: Option<RefusedCommand>,
    /// The held layer of its changes, about which nobody has decided.
    #[serde(default)]
    pub set_aside: Option<String>,
    /// The last thing that the journal holds of it.
    #[serde(default)]
    pub journaled: Journaled,
    /// The parsed call, from its plan until it runs.
    #[serde(skip)]
    pub(crate) prepared: Parsed,
}

/// The state of a person's change to the arguments of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArgumentEdit {
    /// The model's own arguments count.
    #[default]
    None,
    /// The journal does not hold the arguments yet.
    New,
    /// The journal holds the arguments.
    Recorded,
}

/// The last thing that the journal holds of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Journaled {
    /// The journal does not know it.
    #[default]
    Nothing,
    /// The call itself.
    Call,
    /// Its start.
    Start,
    /// Its result.
    Result,
}

/// A parsed call that stays within its process: another one parses anew. A copy shares it, and whoever takes
/// it first has it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Parsed(Arc<Mutex<Option<Box<dyn Prepared>>>>);

impl Parsed {
    pub(crate) fn put(&self, prepared: Option<Box<dyn Prepared>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = prepared;
    }

    /// Tells whether it is there, and all that it may change is done by commands.
    pub(crate) fn is_command(&self) -> bool {
        let parsed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        parsed.as_deref().is_some_and(Prepared::is_command)
    }

    pub(crate) fn take(&self) -> Option<Box<dyn Prepared>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// A command that confinement has refused something.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RefusedCommand {
    /// The result that stands unless a person gives it more.
    pub result: ToolResult,
    /// The kept output of that run.
    pub output: Option<StoredOutput>,
    /// The grants it would need, besides those it was given before.
    pub grants: Vec<Grant>,
    /// The person's word: run it again, with that.
    pub is_granted: bool,
    /// The layer of its changes, where these are what a person decides about: with their word it is kept, and
    /// nothing runs again.
    #[serde(default)]
    pub held: Option<HeldAnswer>,
}

/// A layer that waits for a person, and the result that the call has with their word.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HeldAnswer {
    /// The name under which the layer is held.
    pub layer: String,
    /// The result that counts once the layer is kept.
    pub result: ToolResult,
    /// Without their word it is dropped, and not left aside.
    #[serde(default)]
    pub is_dropped: bool,
    /// Their reason, where they said no.
    #[serde(default)]
    pub reason: Option<String>,
    /// Their choice, where they keep some files and not the others.
    #[serde(default)]
    pub chosen: Option<ChosenFiles>,
}

/// The files of a layer that a person keeps, and the question that they answered, to be asked again where those cannot
/// be kept without others.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ChosenFiles {
    /// As they are named in the question.
    pub paths: Vec<String>,
    /// The question.
    pub question: Box<CallQuestion>,
}

/// The steps of a call.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallStatus {
    /// Not planned yet.
    New,
    /// May run. An approval by a person is bound to what that person was shown.
    Approved {
        /// The hash of what the person was shown; `None` where nobody was asked.
        fingerprint: Option<String>,
    },
    /// A person has to decide.
    Pending(Box<CallQuestion>),
    /// Not run here: its result comes from outside (FR-MODE-02).
    Waiting,
    /// On record as started.
    Running,
    /// It has its one result.
    Done(ToolResult),
}

/// The person's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalDecision {
    /// Everything that is pending runs.
    ApproveAll,
    /// By the calls' ids; all others are denied.
    ApproveSelected(Vec<String>),
    /// Nothing that is pending runs.
    DenyAll,
}

impl Batch {
    /// Tells if some call is pending.
    pub fn awaits_a_person(&self) -> bool {
        self.pending().next().is_some()
    }

    /// The questions of the calls that are pending.
    pub fn pending(&self) -> impl Iterator<Item = &CallQuestion> {
        self.entries.iter().filter_map(|entry| match &entry.status {
            CallStatus::Pending(request) => Some(&**request),
            CallStatus::New
            | CallStatus::Approved { .. }
            | CallStatus::Waiting
            | CallStatus::Running
            | CallStatus::Done(_) => None,
        })
    }

    /// The calls whose results come from outside and are not there yet.
    pub fn waiting(&self) -> impl Iterator<Item = &CallEntry> {
        self.entries.iter().filter(|entry| matches!(entry.status, CallStatus::Waiting))
    }

    /// Tells if some result has to come from outside.
    pub fn awaits_results(&self) -> bool {
        self.waiting().next().is_some()
    }

    /// Calls come in the order in which they were whole; they run in the order of the message.
    pub(crate) fn put_in_order(&mut self, places: &[usize]) {
        let mut numbered: Vec<(usize, CallEntry)> =
            places.iter().copied().zip(self.entries.drain(..places.len())).collect();
        numbered.sort_by_key(|(place, _)| *place);
        self.entries.splice(..0, numbered.into_iter().map(|(_, entry)| entry));
    }

    /// The call that runs next, if nobody is asked about anything.
    pub(crate) fn first_to_run(&self) -> Option<usize> {
        let runs =
            |entry: &CallEntry| matches!(entry.status, CallStatus::Approved { fingerprint: None });
        let first = self.entries.iter().position(runs)?;
        (!self.awaits_a_person()).then_some(first)
    }

    /// The approved commands in a row that begin here and have not run yet, all of them asked about afterwards or none.
    pub(crate) fn commands_from(&self, index: usize) -> Vec<usize> {
        let runs = |at: &usize| {
            let entry = &self.entries[*at];
            let is_new = entry.refusal.is_none() && entry.prepared.is_command();
            is_new && matches!(entry.status, CallStatus::Approved { .. })
        };
        let is_asked = self.entries[index].is_asked_afterwards;
        let alike = |at: &usize| self.entries[*at].is_asked_afterwards == is_asked;
        (index..self.entries.len()).take_while(runs).take_while(alike).collect()
    }

    /// Tells whether the next call only reads too, and runs without a question.
    pub(crate) fn reads_on(&self, index: usize) -> bool {
        let reads = |entry: &CallEntry| {
            entry.only_reads && matches!(entry.status, CallStatus::Approved { fingerprint: None })
        };
        self.entries[index].only_reads && self.entries.get(index + 1).is_some_and(reads)
    }

    /// Calls whose results the journal does not hold yet.
    pub(crate) fn unrecorded(&self) -> Vec<CallKey> {
        let missing =
            |entry: &&CallEntry| entry.result().is_some() && entry.journaled < Journaled::Result;
        self.entries.iter().filter(missing).map(|entry| entry.key.clone()).collect()
    }

    pub(crate) fn note_recorded(&mut self) {
        for entry in &mut self.entries {
            let known = if entry.result().is_some() { Journaled::Result } else { Journaled::Call };
            entry.journaled = entry.journaled.max(known);
            if entry.edit == ArgumentEdit::New {
                entry.edit = ArgumentEdit::Recorded;
            }
        }
    }

    /// Refuses the calls that have no result: what cannot be recorded does not run.
    pub(crate) fn refuse_rest(&mut self, error: &ToolError, form: ResultForm) {
        for entry in self.entries.iter_mut().filter(|entry| entry.result().is_none()) {
            entry.refuse(form, error);
        }
    }

    /// The calls whose commands ran on a held layer, and that have no result yet.
    pub(crate) fn on_layer(&self, layer: &str) -> Vec<usize> {
        let is_on = |entry: &CallEntry| {
            let held = entry.refusal.as_ref().and_then(|refusal| refusal.held.as_ref());
            held.is_some_and(|held| held.layer == layer)
        };
        (0..self.entries.len()).filter(|at| is_on(&self.entries[*at])).collect()
    }

    /// The calls that wait for an answer about their layer, which nobody gives any more.
    pub(crate) fn left_on_layers(&self) -> Vec<usize> {
        let is_running = |entry: &CallEntry| matches!(entry.status, CallStatus::Running);
        let is_asked =
            |layer: &str| self.on_layer(layer).iter().any(|at| !is_running(&self.entries[*at]));
        let is_left = |entry: &CallEntry| {
            let held = entry.refusal.as_ref().and_then(|refusal| refusal.held.as_ref());
            is_running(entry) && held.is_some_and(|held| !is_asked(&held.layer))
        };
        (0..self.entries.len()).filter(|at| is_left(&self.entries[*at])).collect()
    }

    /// Tells if every call has its result.
    pub fn is_finished(&self) -> bool {
        self.entries.iter().all(|entry| entry.result().is_some())
    }
}

impl CallEntry {
    pub(crate) fn new(key: CallKey, call: ToolCall) -> Self {
        Self {
            key,
            call,
            status: CallStatus::New,
            rule: String::new(),
            summary: String::new(),
            risk: None,
            duration_ms: 0,
            only_reads: false,
            inspects: false,
            is_asked_afterwards: false,
            shown: None,
            seen: Vec::new(),
            shown_files: Vec::new(),
            edit: ArgumentEdit::None,
            refusal: None,
            set_aside: None,
            journaled: Journaled::default(),
            prepared: Parsed::default(),
        }
    }

    /// Takes the arguments that a person wrote; it is planned anew.
    pub(crate) fn take_edit(&mut self, arguments: String) {
        self.call.arguments = arguments;
        self.edit = ArgumentEdit::New;
        self.plan_anew();
    }

    pub(crate) fn plan_anew(&mut self) {
        self.prepared = Parsed::default();
        self.status = CallStatus::New;
    }

    /// Its one result. The model wrote other arguments than a person who edited them, so it is told.
    pub(crate) fn done(&self, result: ToolResult) -> CallStatus {
        match self.edit {
            ArgumentEdit::None => CallStatus::Done(result),
            ArgumentEdit::New | ArgumentEdit::Recorded => {
                CallStatus::Done(reply::with_edit_told(result, &self.call.arguments))
            }
        }
    }

    /// Tells whether it is a command that is asked about when it has ended, and has not run yet.
    pub(crate) fn is_new_effect(&self) -> bool {
        self.is_asked_afterwards && self.refusal.is_none() && self.prepared.is_command()
    }

    /// Counts the time that it ran.
    pub(crate) fn add_time(&mut self, time: Duration) {
        self.duration_ms += u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    }

    /// Tells whether its command ran on a layer that waits for a person's word.
    pub(crate) fn is_on_layer(&self) -> bool {
        self.refusal.as_ref().is_some_and(|refusal| refusal.held.is_some())
    }

    /// It does not run; if it ran before, what came of that stands.
    pub(crate) fn refuse(&mut self, form: ResultForm, error: &ToolError) {
        let happened = self.leave_refusal().map(|refusal| refusal.result);
        let result = happened.unwrap_or_else(|| reply::refused(form, &self.call, error));
        self.status = self.done(result);
    }

    /// Takes what confinement refused, or a question about a layer, which stays set aside.
    pub(crate) fn leave_refusal(&mut self) -> Option<RefusedCommand> {
        let refusal = self.refusal.take()?;
        self.set_aside = refusal.held.as_ref().map(|held| held.layer.clone());
        Some(refusal)
    }

    /// The result, once there is one.
    pub fn result(&self) -> Option<&ToolResult> {
        match &self.status {
            CallStatus::Done(result) => Some(result),
            CallStatus::New
            | CallStatus::Approved { .. }
            | CallStatus::Pending(_)
            | CallStatus::Waiting
            | CallStatus::Running => None,
        }
    }
}
