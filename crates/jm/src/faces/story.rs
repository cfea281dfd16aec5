//! A session in the order in which things happened: prompt, thoughts, answer, the calls it asked for.
//!
//! Law: a model's message comes before its calls, although the journal has the calls first.

use std::collections::HashMap;

use anyhow::Result;
use jm_engine::rewind::point_in;
use jm_store::{CallView, MessageRecord, Record, Speaker, Store};
use jm_types::text::{one_line, sanitize};
use jm_types::{BatchNumber, SessionId};
use serde_json::{Value, json};

use crate::sessions;

/// One thing that happened.
#[derive(Debug)]
pub(crate) enum Scene {
    Said(Said),
    Call(CallView),
}

/// One thing that was said, and where it stands among the records.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) seq: i64,
    pub(crate) at: u64,
    what: What,
}

#[derive(Debug)]
enum What {
    Message(MessageRecord),
    Opening { root: String, toolset: String, mode: String, version: String },
}

/// A part of a message that people read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Spoken {
    Prompt(String),
    Thinking(String),
    Answer(String),
    /// A line of our own, such as a summary or a fork.
    Note(String),
}

/// Tells the records of a session after a place, in the order of the story.
pub(crate) fn tell(
    store: &Store,
    session: &SessionId,
    after: i64,
    mut each: impl FnMut(Scene) -> Result<()>,
) -> Result<()> {
    let mut asked: HashMap<BatchNumber, Said> = HashMap::new();
    let mut free = Vec::new();
    for said in said(store, session)? {
        match said.batch() {
            Some(batch) => {
                asked.insert(batch, said);
            }
            None => free.push(said),
        }
    }
    let mut free = free.into_iter().filter(|said| said.seq > after).peekable();
    for call in store.walk_calls(session) {
        let call = call.map_err(sessions::told)?;
        let message = asked.remove(&call.batch);
        if call.seq <= after {
            continue;
        }
        while let Some(earlier) = free.next_if(|said| said.seq < call.seq) {
            each(Scene::Said(earlier))?;
        }
        if let Some(message) = message {
            each(Scene::Said(message))?;
        }
        each(Scene::Call(call))?;
    }
    let mut rest: Vec<Said> = free.chain(asked.into_values().filter(|it| it.seq > after)).collect();
    rest.sort_by_key(|said| said.seq);
    rest.into_iter().try_for_each(|said| each(Scene::Said(said)))
}

/// Everything that was said in a session, in the order of its records.
fn said(store: &Store, session: &SessionId) -> Result<Vec<Said>> {
    let messages = store.messages(session).map_err(sessions::told)?;
    let mut said: Vec<Said> = messages
        .into_iter()
        .map(|view| Said { seq: view.seq, at: view.at, what: What::Message(view.message) })
        .collect();
    for (seq, at, record) in store.said(session).map_err(sessions::told)? {
        if let Record::SessionOpened { root, toolset, mode, version } = record {
            let root = root.to_string_lossy().into_owned();
            said.push(Said { seq, at, what: What::Opening { root, toolset, mode, version } });
        }
    }
    said.sort_by_key(|said| said.seq);
    Ok(said)
}

impl Said {
    pub(crate) fn is_opening(&self) -> bool {
        matches!(self.what, What::Opening { .. })
    }

    fn batch(&self) -> Option<BatchNumber> {
        match &self.what {
            What::Message(message) => message.batch,
            What::Opening { .. } => None,
        }
    }

    /// Its parts that people read, in order.
    pub(crate) fn spoken(&self) -> Vec<Spoken> {
        match &self.what {
            What::Message(message) => parts(message),
            What::Opening { root, toolset, mode, version } => {
                let text = format!("jm {version}, toolset {toolset}, tools {mode}, in {root}");
                vec![Spoken::Note(one_line(&text))]
            }
        }
    }

    pub(crate) fn as_json(&self) -> Value {
        match &self.what {
            What::Message(message) => json!({
                "message": message.role.word(), "content": message.content,
                "batch": message.batch, "at": self.at,
            }),
            What::Opening { root, toolset, mode, version } => json!({
                "opened": version, "root": root, "toolset": toolset, "mode": mode, "at": self.at,
            }),
        }
    }
}

fn parts(message: &MessageRecord) -> Vec<Spoken> {
    let content = &message.content;
    if message.role == Speaker::System {
        return vec![Spoken::Note(match point_in(content) {
            Some(point) => format!("Forked from session {}", one_line(&point.session)),
            None => {
                "Compacted: the model continues with a summary, or without old results".to_owned()
            }
        })];
    }
    let spoken = |text: String| match message.role {
        Speaker::User => Spoken::Prompt(text),
        Speaker::System | Speaker::Assistant | Speaker::Tool => Spoken::Answer(text),
    };
    let part = |part: &Value| {
        let text = || part.get("text").and_then(Value::as_str).map(sanitize);
        match part.get("type").and_then(Value::as_str) {
            Some("thinking") => text().map(Spoken::Thinking),
            Some("image") => Some(spoken("[image]".to_owned())),
            // Calls stand for themselves; a vendor's own item has nothing to read.
            Some("call" | "result" | "opaque") => None,
            _ => text().or_else(|| part.as_str().map(sanitize)).map(spoken),
        }
    };
    let all: Vec<Spoken> = match content {
        Value::Array(parts) => parts.iter().filter_map(part).collect(),
        other => part(other).into_iter().collect(),
    };
    all.into_iter().filter(|spoken| !spoken.text().trim().is_empty()).collect()
}

impl Spoken {
    pub(crate) fn text(&self) -> &str {
        match self {
            Spoken::Prompt(text)
            | Spoken::Thinking(text)
            | Spoken::Answer(text)
            | Spoken::Note(text) => text,
        }
    }
}

/// The words of a message's content: the text of its parts, without calls and thoughts.
pub(crate) fn words(content: &Value) -> String {
    let part = |part: &Value| match part.get("type").and_then(Value::as_str) {
        Some("text") | None => {
            let text = part.get("text").and_then(Value::as_str).or(part.as_str());
            text.map(str::to_owned)
        }
        Some(_) => None,
    };
    match content {
        Value::Array(parts) => parts.iter().filter_map(part).collect::<Vec<_>>().join("\n"),
        other => part(other).unwrap_or_default(),
    }
}
