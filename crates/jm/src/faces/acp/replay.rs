//! A session of the journal, told once more: what `session/load` owes a client before its answer.

use anyhow::Result;
use jm_acp::schema::{
    ContentChunk, SessionUpdate, ToolCall, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
};
use jm_acp::{call_kind, call_locations, fenced_content};
use jm_store::{CallView, Store};
use jm_tui::block::headline::headline;
use jm_types::SessionId;
use jm_types::text::{reveal, sanitize};
use serde_json::Value;

use super::client_link::{ClientLink, cut};
use crate::faces::history;
use crate::faces::story::{self, Scene, Spoken};
use crate::sessions;

/// Tells prompts, thoughts, answers and calls in the order in which they happened.
pub(super) fn tell(link: &ClientLink) -> Result<()> {
    let store = sessions::store()?;
    let session: SessionId = link.session().to_string().into();
    story::tell(&store, &session, 0, |scene| {
        match scene {
            Scene::Said(said) if said.is_opening() => {}
            Scene::Said(said) => said.spoken().iter().for_each(|spoken| say(link, spoken)),
            Scene::Call(call) => show(link, &store, &call),
        }
        Ok(())
    })
}

fn say(link: &ClientLink, spoken: &Spoken) {
    let chunk = ContentChunk::new(spoken.text().to_owned().into());
    match spoken {
        Spoken::Prompt(_) => link.update(SessionUpdate::UserMessageChunk(chunk)),
        Spoken::Thinking(_) => link.update(SessionUpdate::AgentThoughtChunk(chunk)),
        Spoken::Answer(_) => link.update(SessionUpdate::AgentMessageChunk(chunk)),
        Spoken::Note(text) => link.note(text),
    }
}

fn show(link: &ClientLink, store: &Store, view: &CallView) {
    let call = &view.call;
    let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
    let result = view.result().map(|(result, _)| result);
    let is_done = result.is_some_and(|result| result.error.is_none());
    let status = if is_done { ToolCallStatus::Completed } else { ToolCallStatus::Failed };
    let shown = ToolCall::new(call.call.to_string(), headline(&call.name, &call.arguments).plain())
        .name(call.name.clone())
        .kind(call_kind(&call.name, &arguments))
        .locations(call_locations(link.root(), &arguments))
        .raw_input(arguments);
    link.update(SessionUpdate::ToolCall(shown));
    let diff = reveal(&history::diffs(store, link.root(), view));
    let fields = ToolCallUpdateFields::new().status(status);
    let fields = match diff.contains("@@ ") {
        true => link.with_diff(fields, &diff),
        false => {
            let text = result.and_then(|result| store.content(result).ok()).unwrap_or_default();
            let text = cut(&sanitize(&text));
            let content = (!text.trim().is_empty()).then(|| vec![fenced_content(&text)]);
            fields.content(content)
        }
    };
    link.update(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(call.call.to_string(), fields)));
}
