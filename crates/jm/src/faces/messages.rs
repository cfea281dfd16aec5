//! A turn as messages of the screen (`jm_tui::msg`), for whoever draws its blocks.

use jm_engine::{Batch, CallEntry};
use jm_tui::block::call::{End, Outcome as Drawn};
use jm_tui::msg::{Msg, NewCall};
use jm_types::{ErrorCode, StreamEvent};

use super::answer::Outcome;

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
        Some(Msg::CallDone { id: entry.call.id.clone(), end, diff: None })
    };
    batch.entries.iter().filter_map(done).collect()
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
