//! A tool call as the model sent it, and the one result it gets.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::code::ErrorCode;

/// A call as a model asks for it. The arguments stay text until the planner parses them once, so that what
/// is journaled and hashed is what was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The vendor's id, or ours where it gave none.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// JSON text, unparsed, so that nothing of it is lost.
    pub arguments: String,
}

impl ToolCall {
    /// A call whose arguments are a value already.
    pub fn new(id: impl Into<String>, name: impl Into<String>, arguments: &Value) -> Self {
        Self { id: id.into(), name: name.into(), arguments: arguments.to_string() }
    }

    /// Makes a call of a text where a call should be. It is answered like one, and never runs.
    pub fn malformed(id: impl Into<String>, no_call: &NoCall) -> Self {
        Self::new(id, NAME_OF_NONE, &json!({"error": no_call.why, "written": no_call.written}))
    }

    /// Why this is no call, if it is none.
    pub fn no_call(&self) -> Option<NoCall> {
        if self.name != NAME_OF_NONE {
            return None;
        }
        let mut arguments: Value = serde_json::from_str(&self.arguments).ok()?;
        let mut text = |key: &str| match arguments.get_mut(key).map(Value::take) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        };
        Some(NoCall { why: text("error")?, written: text("written")? })
    }
}

/// The name of a call that is none; no tool has it.
const NAME_OF_NONE: &str = "tool-call";

/// A text that should have been a call, and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoCall {
    /// The reason in one sentence.
    pub why: String,
    /// The text that the model wrote instead.
    pub written: String,
}

/// The answer to one call: `content` is what the model gets, `display` what a terminal may show.
///
/// They are two strings because the first must be exact and the second must be harmless.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The id of the call that it answers.
    pub call_id: String,
    /// The tool's name.
    pub name: String,
    /// The exact text for the model.
    pub content: String,
    /// The same text, made harmless for a terminal.
    pub display: String,
    /// The error's code; `None` when the call succeeded.
    pub error: Option<ErrorCode>,
}

impl ToolResult {
    /// Tells a failure or refusal from a success.
    pub fn is_error(&self) -> bool {
        self.error.is_some()
    }
}

/// A tool's definition as a provider is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolDefinition {
    /// The name that the model calls.
    pub name: String,
    /// The text for the model.
    pub description: String,
    /// A JSON schema of the arguments.
    pub parameters: Value,
    /// A schema that goes out as it is, strict or not; `None` lets an adapter shape it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strict: Option<bool>,
}
