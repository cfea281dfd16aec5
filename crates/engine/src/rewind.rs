//! Rewinding a conversation: a new session that begins with what was said before a prompt.
//!
//! Law: nothing leaves the journal. The old session stays as it is, and the new one names it.

use jm_store::{MessageRecord as Remembered, Speaker, Store, StoreError};
use jm_types::{Message, SessionId, ToolError};
use serde_json::{Value, json};

use crate::conversation::Conversation;
use crate::engine::Engine;
use crate::recall::recall_before;

/// The files of a conversation that is rewound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilesAfterRewind {
    /// They are as they were at that prompt.
    Restored,
    /// They are as later work left them, of which the model knows nothing.
    Kept,
}

/// The place at which a conversation was forked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForkPoint {
    /// The session that was forked.
    pub session: SessionId,
    /// The record of the first prompt that is not in the fork.
    pub before: i64,
}

const KEPT: &str = "[Note from jm: the user rewound the conversation to here. Files may have changed since; \
                    read a file again before you edit it.]";

impl Engine {
    /// Begins this engine's session, which must be a new one, with the conversation of another as it was before
    /// a prompt. The new session has read no file yet, so its model reads a file before it edits it.
    pub fn begin_fork(
        &self,
        from: &ForkPoint,
        files: FilesAfterRewind,
    ) -> Result<Conversation, ToolError> {
        let failed = |error: StoreError| ToolError::failed("rewind", error.to_string());
        let journal = self.core().recorder.journal();
        let journal = journal.ok_or_else(|| ToolError::failed("rewind", "there is no journal"))?;
        let past = recall_before(journal.store(), &from.session, from.before).map_err(failed)?;
        let mut messages: Vec<Message> = past.messages().iter().cloned().collect();
        if files == FilesAfterRewind::Kept {
            messages.push(Message::user(KEPT));
        }
        let fork = json!({ "session": from.session, "before": from.before });
        let content = json!({ "history": messages, "forked": fork });
        let recorder = &self.core().recorder;
        recorder.say(Remembered { role: Speaker::System, content, batch: None })?;
        recorder.flush()?;
        Ok(Conversation::of(messages))
    }
}

/// The place at which a session was forked from another; `None` for one that began by itself.
pub fn fork_point(store: &Store, session: &SessionId) -> Result<Option<ForkPoint>, StoreError> {
    let first = store.messages(session)?.into_iter().next();
    Ok(first.and_then(|view| point_in(&view.message.content)))
}

/// The same, out of a message's content.
pub fn point_in(content: &Value) -> Option<ForkPoint> {
    let fork = content.get("forked")?;
    let session = fork.get("session")?.as_str()?.into();
    Some(ForkPoint { session, before: fork.get("before")?.as_i64()? })
}
