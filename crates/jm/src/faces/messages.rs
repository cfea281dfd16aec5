//! A turn as messages of the screen (`jm_tui::msg`), for whoever draws its blocks.

use jm_engine::{Batch, CallEntry};
use jm_store::FileState;
use jm_tui::block::call::{End, Outcome as Drawn};
use jm_tui::block::headline::headline;
use jm_tui::msg::{Msg, NewCall};
use jm_types::text::reveal;
use jm_types::{ErrorCode, StreamEvent};

use super::answer::Outcome;
use super::history;
use crate::sessions;

/// Larger files are not compared for the sake of a picture.
const MOST_COMPARED: u64 = 2 * 1024 * 1024;

pub(super) fn of_event(event: &StreamEvent) -> Option<Msg> {
    match event {
        StreamEvent::Text { delta, .. } => Some(Msg::Text(delta.clone())),
        StreamEvent::Thinking { delta, .. } => Some(Msg::Thinking(delta.clone())),
        StreamEvent::CallStarted { name, .. } => Some(Msg::CallWriting { name: name.clone() }),
        StreamEvent::Retrying { wait_ms, why } => {
            Some(Msg::Retrying { wait_ms: *wait_ms, why: why.clone() })
        }
        StreamEvent::CallArguments { .. }
        | StreamEvent::CallSealed { .. }
        | StreamEvent::PartSealed { .. }
        | StreamEvent::Usage(_)
        | StreamEvent::Stop { .. } => None,
    }
}

pub(super) fn of_calls(batch: &Batch) -> Msg {
    let call = |entry: &CallEntry| NewCall {
        id: entry.call.id.clone(),
        key: entry.key.to_string(),
        name: entry.call.name.clone(),
        arguments: entry.call.arguments.clone(),
    };
    Msg::Calls(batch.entries.iter().map(call).collect())
}

pub(super) fn of_results(batch: &Batch) -> Vec<Msg> {
    let done = |entry: &CallEntry| {
        let end = end(entry)?;
        let diff = changes(entry).filter(|_| end.outcome == Drawn::Completed);
        Some(Msg::CallDone { id: entry.call.id.clone(), end, diff })
    };
    batch.entries.iter().filter_map(done).collect()
}

/// The diff of what a call changed, from the journal: nobody was asked about it, or a file was another
/// by then. A command shows its output instead.
pub(super) fn changes(entry: &CallEntry) -> Option<String> {
    let is_command = headline(&entry.call.name, &entry.call.arguments).plain().starts_with("$ ");
    if entry.only_reads || is_command {
        return None;
    }
    let session = entry.key.session()?;
    let store = sessions::store().ok()?;
    let (view, call) = (store.session(&session).ok()??, store.call(&session, &entry.key).ok()??);
    let sizes = call.effects().files.into_iter().flat_map(|it| [size(&it.before), size(&it.after)]);
    if sizes.sum::<u64>() > MOST_COMPARED {
        return None;
    }
    Some(reveal(&history::diffs(&store, &view.root, &call))).filter(|diff| diff.contains("@@ "))
}

fn size(state: &FileState) -> u64 {
    match state {
        FileState::File { size, .. } => size.unwrap_or(MOST_COMPARED),
        FileState::Missing | FileState::Directory { .. } => 0,
    }
}

fn end(entry: &CallEntry) -> Option<End> {
    let result = entry.result()?;
    let outcome = match Outcome::of(result) {
        Outcome::Ran => Drawn::Completed,
        Outcome::Failed if result.error == Some(ErrorCode::Cancelled) => Drawn::Cancelled,
        Outcome::Failed => Drawn::Failed,
        Outcome::Denied | Outcome::NeedsApproval => {
            let reason = result.display.lines().next().unwrap_or("denied").to_owned();
            Drawn::Denied { reason }
        }
    };
    let seconds = entry.duration_ms as f64 / 1000.0;
    Some(End { outcome, seconds, display: result.display.clone() })
}
