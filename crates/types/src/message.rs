//! The conversation as data: what was said, asked for and answered, in order.
//!
//! Law: a vendor's own item goes back byte for byte to the vendor and model that made it, and to
//! nobody else.

use serde::{Deserialize, Serialize};

use crate::{ToolCall, ToolResult};

/// One turn of one side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// The speaker.
    pub role: MessageRole,
    /// Text, calls, results and the like, in order.
    pub parts: Vec<Part>,
}

/// The speaker of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageRole {
    /// The person, and the results of tools.
    User,
    /// The model.
    Assistant,
}

/// One part of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "type")]
pub enum Part {
    /// Words.
    Text {
        /// The words.
        text: String,
        /// The vendor's own item, if it has to go back as it came.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        native: Option<Native>,
    },
    /// A picture.
    Image {
        /// The MIME type.
        media_type: String,
        /// Base64.
        data: String,
    },
    /// The model's thoughts, as far as the vendor shows them.
    Thinking {
        /// The thoughts.
        text: String,
        /// The vendor's own item, which it wants back unchanged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        native: Option<Native>,
    },
    /// A call of a tool.
    Call {
        /// The call, whole.
        call: ToolCall,
        /// The vendor's own item, if it has to go back as it came.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        native: Option<Native>,
    },
    /// The answer to a call.
    Result {
        /// The id of the call.
        call_id: String,
        /// The tool's name.
        name: String,
        /// The text for the model.
        content: String,
        /// Marks a failure or refusal.
        is_error: bool,
    },
    /// A block of a kind that we do not know: nothing to show, but it must go back.
    Opaque {
        /// The vendor's own item.
        native: Native,
    },
}

/// A vendor's own item, for instance a signed thought, kept as the JSON text it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Native {
    /// The vendor that made it.
    pub provider: String,
    /// The model that made it.
    pub model: String,
    /// JSON text, byte for byte.
    pub raw: String,
}

impl Native {
    /// True if this provider and model made the item, so that it may go back to them.
    pub fn belongs_to(&self, provider: &str, model: &str) -> bool {
        self.provider == provider && self.model == model
    }
}

impl Message {
    /// A message of the person in words.
    pub fn user(text: impl Into<String>) -> Self {
        Self { role: MessageRole::User, parts: vec![Part::text(text)] }
    }

    /// A message of the model in words.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self { role: MessageRole::Assistant, parts: vec![Part::text(text)] }
    }

    /// The answers to a batch, one a call, in call order.
    pub fn results(results: &[ToolResult]) -> Self {
        Self { role: MessageRole::User, parts: results.iter().map(Part::result).collect() }
    }

    /// The text that a person would read of it.
    pub fn text(&self) -> String {
        let text = |part: &Part| match part {
            Part::Text { text, .. } => Some(text.clone()),
            Part::Image { .. }
            | Part::Thinking { .. }
            | Part::Call { .. }
            | Part::Result { .. }
            | Part::Opaque { .. } => None,
        };
        self.parts.iter().filter_map(text).collect()
    }

    /// The calls in it, in order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(Part::call)
    }
}

impl Part {
    /// A part of words without a vendor's item.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), native: None }
    }

    /// The part that answers a call.
    pub fn result(result: &ToolResult) -> Self {
        Self::Result {
            call_id: result.call_id.clone(),
            name: result.name.clone(),
            content: result.content.clone(),
            is_error: result.is_error(),
        }
    }

    /// The call of this part; `None` for any other part.
    pub fn call(&self) -> Option<&ToolCall> {
        match self {
            Part::Call { call, .. } => Some(call),
            Part::Text { .. }
            | Part::Image { .. }
            | Part::Thinking { .. }
            | Part::Result { .. }
            | Part::Opaque { .. } => None,
        }
    }

    /// The vendor's item, if this provider and model made it.
    pub fn native_for(&self, provider: &str, model: &str) -> Option<&Native> {
        let native = match self {
            Part::Text { native, .. }
            | Part::Thinking { native, .. }
            | Part::Call { native, .. } => native.as_ref(),
            Part::Opaque { native } => Some(native),
            Part::Image { .. } | Part::Result { .. } => None,
        };
        native.filter(|native| native.belongs_to(provider, model))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_survives_being_written_and_read() {
        let native = Native {
            provider: "anthropic".to_owned(),
            model: "m".to_owned(),
            raw: r#"{"type":"thinking", "signature":"\u00e9=="}"#.to_owned(),
        };
        let parts = vec![
            Part::Thinking { text: "hm".to_owned(), native: Some(native.clone()) },
            Part::text("two\nlines"),
            Part::Image { media_type: "image/png".to_owned(), data: "AAAA".to_owned() },
            Part::Call {
                call: ToolCall {
                    id: "c1".to_owned(),
                    name: "read_file".to_owned(),
                    arguments: r#"{"path": "a",  "n": 1.0}"#.to_owned(),
                },
                native: None,
            },
            Part::Result {
                call_id: "c1".to_owned(),
                name: "read_file".to_owned(),
                content: "x".to_owned(),
                is_error: true,
            },
            Part::Opaque { native },
        ];
        let message = Message { role: MessageRole::Assistant, parts };
        let text = serde_json::to_string(&message).unwrap();
        assert_eq!(serde_json::from_str::<Message>(&text).unwrap(), message);
        assert_eq!(message.text(), "two\nlines");
        assert_eq!(message.calls().count(), 1);
    }

    #[test]
    fn a_native_item_belongs_to_one_model_of_one_provider() {
        let native =
            Native { provider: "a".to_owned(), model: "m".to_owned(), raw: "{}".to_owned() };
        let part = Part::Opaque { native };
        assert!(part.native_for("a", "m").is_some());
        assert!(part.native_for("a", "n").is_none());
        assert!(part.native_for("b", "m").is_none());
    }
}
