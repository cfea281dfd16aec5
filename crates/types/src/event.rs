//! What a face hears while a call runs (FR-OUT-01).
//!
//! Law: for each call, `Started` comes first, then chunks, then `Completed`.

use serde::Serialize;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum ToolEvent {
    Started { tool_call_id: String, tool_name: String },
    StdoutChunk { tool_call_id: String, chunk: String },
    StderrChunk { tool_call_id: String, chunk: String },
    Completed { tool_call_id: String },
}
