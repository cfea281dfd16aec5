//! Messages of a conversation that a document holds: they are on record like any other, and its calls run
//! as batches of their own, when the document says so.

use jm_store::{MessageRecord as Remembered, Speaker};
use jm_types::{Message, MessageRole, ToolError};
use serde_json::Value;

use crate::engine::Engine;

impl Engine {
    /// Records what was said. It is on disk when this returns.
    pub fn remember_message(&self, message: &Message) -> Result<(), ToolError> {
        let role = match message.role {
            MessageRole::User => Speaker::User,
            MessageRole::Assistant => Speaker::Assistant,
        };
        let parts = message.parts.iter().map(serde_json::to_value).collect::<Result<_, _>>();
        let parts: Vec<Value> =
            parts.map_err(|error| ToolError::failed("turn", error.to_string()))?;
        let content = Value::Array(parts);
        self.core().recorder.say(Remembered { role, content, batch: None })?;
        self.core().recorder.flush()
    }
}
