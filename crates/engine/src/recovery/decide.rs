//! Deciding: what the person chose for a call, and the one result that it gets.
//!
//! Law: a call that may have run is never run again (FR-RES-04c), and its result says no more than is known.

use jm_store::{CallView, Record, StoredOutput, StoredResult};
use jm_types::ErrorCode;

use super::facts::{CallState, Examined, Side};
use crate::own_call::is_own_name;

/// The person's choice (FR-RES-05, and undo).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecoveryChoice {
    /// The results stand; a change that was half done is completed.
    Keep,
    /// Every result is marked failed; a change that was half done is taken back, one that is in place stays.
    Discard,
    /// Like discard, and what the batch had changed is taken back too.
    Undo,
}

impl RecoveryChoice {
    /// The word in flags and in the journal.
    pub fn word(self) -> &'static str {
        match self {
            RecoveryChoice::Keep => "keep",
            RecoveryChoice::Discard => "discard",
            RecoveryChoice::Undo => "undo",
        }
    }
}

/// The side to which the files of a call are brought; `None` where they are left alone.
pub(super) fn goal(state: CallState, choice: RecoveryChoice) -> Option<Side> {
    match (state, choice) {
        (
            CallState::Foreign | CallState::Unknown | CallState::Held | CallState::NeverStarted,
            _,
        ) => None,
        (CallState::Finished, RecoveryChoice::Keep | RecoveryChoice::Discard) => None,
        (CallState::SomeEffects | CallState::AllEffects, RecoveryChoice::Keep) => Some(Side::After),
        (CallState::AllEffects, RecoveryChoice::Discard) => Some(Side::After),
        (CallState::NoEffect | CallState::SomeEffects, _) => Some(Side::Before),
        (CallState::AllEffects | CallState::Finished, RecoveryChoice::Undo) => Some(Side::Before),
    }
}

/// Tells if a result says that the call was cut short.
pub(super) fn is_interrupted((result, _): (&StoredResult, u64)) -> bool {
    result.error == Some(ErrorCode::Interrupted)
}

const KEPT: &str =
    "the command completed and its changes are kept; jm ended before it could report it";
const DISCARDED: &str = "discarded by the user after a crash";

fn as_sentence(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}

fn has_changes(view: &CallView) -> bool {
    let effects = view.effects();
    !effects.files.is_empty() || !effects.layers.is_empty()
}

/// The call's one result, unless it has one that stands.
pub(super) fn result_of(
    call: &Examined,
    state: CallState,
    choice: RecoveryChoice,
    output: Option<StoredOutput>,
    held: &[String],
) -> Option<Record> {
    let had = call.view.result();
    let is_own = is_own_name(&call.view.call.name);
    let is_layered = !call.layers.is_empty() || state == CallState::Held;
    let is_command = had.is_none() && is_layered && !is_own;
    if had.is_some() && choice == RecoveryChoice::Keep {
        return None;
    }
    let (content, error) = match (had.is_some(), choice, state) {
        (true, RecoveryChoice::Discard, _) => (DISCARDED, Some(ErrorCode::Discarded)),
        // Discarding is about results of tools; the change stays, and has not been confirmed to
        // anybody. An undo is no tool's: it is done or it is not; so is a keeping by hand.
        (false, RecoveryChoice::Discard, CallState::AllEffects) if !is_own => {
            (DISCARDED, Some(ErrorCode::Discarded))
        }
        (_, RecoveryChoice::Undo, CallState::NoEffect | CallState::Finished) => {
            ("undone by the user after a crash", Some(ErrorCode::Discarded))
        }
        (_, _, CallState::NeverStarted) => {
            ("not run: jm ended before this call started", Some(ErrorCode::Interrupted))
        }
        (_, _, CallState::AllEffects | CallState::Finished) => {
            ("completed; jm ended before it could report it", None)
        }
        (_, _, CallState::NoEffect | CallState::SomeEffects) => {
            ("interrupted when jm ended; nothing was changed", Some(ErrorCode::Interrupted))
        }
        (_, _, CallState::Foreign) => (
            "interrupted when jm ended; its files were changed by another program since and were left alone",
            Some(ErrorCode::Interrupted),
        ),
        (_, _, CallState::Held) => (
            "interrupted when jm ended; none of its changes are in the workspace",
            Some(ErrorCode::Interrupted),
        ),
        (_, _, CallState::Unknown) => (
            "unknown: it was started, but jm ended before its outcome was recorded. It was not run again; check what it may have done",
            Some(ErrorCode::UnknownOutcome),
        ),
    };
    let (content, error) = if is_command && error.is_none() {
        // Its changes are in place; how it ended is known by its record at best.
        (KEPT, Some(ErrorCode::UnknownOutcome))
    } else {
        (content, error)
    };
    let mut content = match call.ending() {
        Some(ending) if is_command => format!("{content}. {}", as_sentence(&ending)),
        Some(ending) if state == CallState::Unknown => format!(
            "jm ended before its outcome was recorded: {ending}. It was not run again; check what it may have done"
        ),
        Some(_) | None => content.to_owned(),
    };
    if choice == RecoveryChoice::Discard
        && error == Some(ErrorCode::Discarded)
        && has_changes(&call.view)
    {
        let key = &call.view.call.call;
        content.push_str(&format!("; its changes are in place (undo: `jm undo --call {key}`)"));
    }
    if let Some(gap) = call.gap().filter(|_| is_command) {
        content.push_str(&format!("; not tracked: {gap}"));
    }
    if !held.is_empty() {
        let id = &held[0];
        content.push_str(&format!(
            ". Its changes are set aside: `jm held diff {id}`, `jm held keep {id}` or `jm held drop {id}`"
        ));
    }
    if output.is_some() {
        content.push_str(&format!(". Its output: `jm output {}`", call.view.call.call));
    }
    let result = StoredResult {
        call_id: call.view.call.id.clone(),
        name: call.view.call.name.clone(),
        error,
        content: Some(content),
        content_blob: None,
        output,
        seen: Vec::new(),
    };
    let call = call.view.call.call.clone();
    Some(Record::Finished { call, result, duration_ms: 0 })
}
