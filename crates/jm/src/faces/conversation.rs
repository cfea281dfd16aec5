//! The conversation of a session besides its calls: messages, and what it was worked with.

use anyhow::Result;
use jm_store::{MessageRecord, Record, Store};
use jm_system::clock::utc_moment;
use jm_types::SessionId;
use jm_types::text::{one_line, sanitize};
use serde_json::{Value, json};

use super::print;
use crate::cli::Log;
use crate::sessions;

/// One thing that was said, and where it stands among the calls.
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

pub(crate) fn said(store: &Store, session: &SessionId) -> Result<Vec<Said>> {
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

pub(crate) fn show(log: &Log, said: &Said) -> Result<()> {
    if log.json { print::json(&said.as_json()) } else { print::text(&said.in_words()) }
}

impl Said {
    pub(crate) fn is_opening(&self) -> bool {
        matches!(self.what, What::Opening { .. })
    }

    pub(crate) fn who(&self) -> &'static str {
        match &self.what {
            What::Message(message) => message.role.word(),
            What::Opening { .. } => "opened",
        }
    }

    /// The words of a message; what is not words, as JSON.
    pub(crate) fn text(&self) -> String {
        match &self.what {
            What::Message(message) => words(&message.content),
            What::Opening { root, toolset, mode, version } => {
                format!("jm {version}, toolset {toolset}, tools {mode}, in {root}")
            }
        }
    }

    fn in_words(&self) -> String {
        let mut text = format!("{}  {}", utc_moment(self.at), self.who());
        let said = sanitize(&self.text());
        match self.what {
            What::Opening { .. } => text.push_str(&format!("  {}\n", one_line(&said))),
            What::Message(_) => {
                text.push('\n');
                said.lines().for_each(|line| text.push_str(&format!("    {line}\n")));
            }
        }
        text
    }

    fn as_json(&self) -> Value {
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

/// A string is its text, a list of parts the text of each, anything else itself as JSON.
pub(crate) fn words(content: &Value) -> String {
    let part = |part: &Value| match part.get("text").unwrap_or(part) {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match content {
        Value::Array(parts) => parts.iter().map(part).collect::<Vec<_>>().join("\n"),
        other => part(other),
    }
}
