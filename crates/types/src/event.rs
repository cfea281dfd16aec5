//! Events that a face hears while a call runs (FR-OUT-01).
//!
//! Law: for each call, `Started` comes first, then chunks, then what was noticed, then `Completed`.

use serde::Serialize;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum ToolEvent {
    Started {
        tool_call_id: String,
        tool_name: String,
    },
    StdoutChunk {
        tool_call_id: String,
        chunk: String,
    },
    StderrChunk {
        tool_call_id: String,
        chunk: String,
    },
    /// Something that the person should know and the result does not say.
    Noticed {
        tool_call_id: String,
        text: String,
    },
    Completed {
        tool_call_id: String,
    },
}
