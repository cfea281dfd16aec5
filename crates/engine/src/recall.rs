//! A conversation read back from the journal.
//!
//! Law: what was said comes back as it was said, and every call has its result behind it, but for a
//! batch that still waits for results from outside. A response that a crash cut off is a message of
//! the words and calls that were recorded; nothing of it ran.

use std::collections::BTreeMap;

use jm_store::{CallView, MessageRecord as Remembered, Speaker, Store, StoreError};
use jm_types::text::sanitize;
use jm_types::{BatchNumber, Message, MessageRole, Part, SessionId, ToolCall, ToolResult};

use crate::batch::{Batch, CallEntry, CallStatus, Journaled};
use crate::conversation::Conversation;
use crate::session::Session;
use crate::turn::from_data;
use crate::undo::prompts::Prompts;
use crate::undo::undone_note;

/// Reads the conversation of a session back.
pub fn recall(store: &Store, session: &SessionId) -> Result<Conversation, StoreError> {
    recall_before(store, session, i64::MAX)
}

/// Reads it back as it was before a record, such as a prompt.
pub fn recall_before(
    store: &Store,
    session: &SessionId,
    before: i64,
) -> Result<Conversation, StoreError> {
    let said = store.messages_before(session, before)?;
    let Some(first) = said.first() else { return Ok(Conversation::default()) };
    let prompts = Prompts::of(store, session)?;
    let mut batches: BTreeMap<BatchNumber, Vec<CallView>> = BTreeMap::new();
    for call in store.calls_after(session, first.seq)? {
        batches.entry(call.batch).or_default().push(call);
    }
    let waiting = store.waiting(session)?.first().map(|call| call.batch);
    let mut messages: Vec<Message> = Vec::new();
    for view in said {
        let Remembered { role, content, batch } = view.message;
        match role {
            Speaker::System => {
                let history = content.get("history").cloned().unwrap_or_default();
                messages = serde_json::from_value(history)?;
            }
            Speaker::User => {
                let last = prompts.before(view.seq).map_or(0, |prompt| prompt.seq);
                let note = undone_note(store, session, (last, view.seq))?;
                join(&mut messages, note.map(Message::user));
                join(&mut messages, from_data(MessageRole::User, content));
            }
            Speaker::Assistant => {
                let Some(message) = from_data(MessageRole::Assistant, content) else { continue };
                let calls = batch.and_then(|batch| batches.remove(&batch)).unwrap_or_default();
                let waits = batch.is_some() && batch == waiting;
                let results = if waits { None } else { results(store, &message, calls)? };
                join(&mut messages, Some(message));
                join(&mut messages, results);
            }
            // Results are read from where they were recorded.
            Speaker::Tool => {}
        }
    }
    Ok(Conversation::of(messages))
}

/// Gives a session back the batch that waits for results from outside, if there is one.
pub fn resume_waiting(store: &Store, session: &mut Session) -> Result<(), StoreError> {
    let calls = store.waiting(&session.id)?;
    let Some(first) = calls.first() else { return Ok(()) };
    let number = first.batch;
    let entries = calls.iter().map(|view| waiting_entry(store, view)).collect::<Result<_, _>>()?;
    let iterations = iterations(store, &session.id)?;
    session.await_results(Batch { number, is_recorded: true, entries, combined: None }, iterations);
    Ok(())
}

fn waiting_entry(store: &Store, view: &CallView) -> Result<CallEntry, StoreError> {
    let call = &view.call;
    let (id, name, arguments) = (call.id.clone(), call.name.clone(), call.arguments.clone());
    let mut entry = CallEntry::new(call.call.clone(), ToolCall { id, name, arguments });
    entry.summary = view.summary().to_owned();
    entry.journaled = Journaled::Call;
    entry.status = match view.result() {
        None => CallStatus::Waiting,
        Some((result, _)) => {
            entry.journaled = Journaled::Result;
            let content = store.content(result)?;
            CallStatus::Done(ToolResult {
                call_id: result.call_id.clone(),
                name: result.name.clone(),
                display: sanitize(&content),
                content,
                error: result.error,
            })
        }
    };
    Ok(entry)
}

/// How many batches a model has asked for since the person last spoke.
fn iterations(store: &Store, session: &SessionId) -> Result<usize, StoreError> {
    let said = store.messages_since_summary(session)?;
    let since = said.iter().rev().take_while(|view| view.message.role != Speaker::User);
    Ok(since.filter(|view| view.message.batch.is_some()).count())
}

fn join(messages: &mut Vec<Message>, message: Option<Message>) {
    let Some(message) = message else { return };
    match messages.last_mut() {
        Some(last) if last.role == message.role => last.parts.extend(message.parts),
        _ => messages.push(message),
    }
}

/// The answers to a message's calls, in its own order.
fn results(
    store: &Store,
    message: &Message,
    mut calls: Vec<CallView>,
) -> Result<Option<Message>, StoreError> {
    let mut parts = Vec::new();
    for call in message.calls() {
        let place = calls.iter().position(|view| view.call.id == call.id);
        let view = place.map(|place| calls.remove(place));
        let (content, is_error) = match view.as_ref().and_then(CallView::result) {
            Some((result, _)) => (store.content(result)?, result.error.is_some()),
            None => ("the outcome of this call was not recorded".to_owned(), true),
        };
        let (call_id, name) = (call.id.clone(), call.name.clone());
        parts.push(Part::Result { call_id, name, content, is_error });
    }
    Ok((!parts.is_empty()).then_some(Message { role: MessageRole::User, parts }))
}
