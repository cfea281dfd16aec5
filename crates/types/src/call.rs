//! A tool call as the model sent it, and the one result it gets.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::code::ErrorCode;

/// A call as a model asks for it. The arguments stay text until the planner parses them once, so that what
/// is journaled and hashed is what was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    pub arguments: String,
}

impl ToolCall {
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
    pub why: String,
    pub written: String,
}

/// The answer to one call: `content` is what the model gets, `display` what a terminal may show.
///
/// They are two strings because the first must be exact and the second must be harmless.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    pub call_id: String,
    pub name: String,
    pub content: String,
    pub display: String,
    /// The error's code; `None` when the call succeeded.
    pub error: Option<ErrorCode>,
}

impl ToolResult {
    pub fn is_error(&self) -> bool {
        self.error.is_some()
    }
}

/// A tool's definition as a provider is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolDefinition {
    pub name: String,
    pub description: String,
    pub parameters: Value,
    /// A schema that goes out as it is, strict or not; `None` lets an adapter shape it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strict: Option<bool>,
}
