//! Events that a face hears while a call runs (FR-OUT-01).
//!
//! Law: for each call, `Started` comes first, then chunks, then what was noticed, then `Completed`.

use serde::Serialize;

/// News of a call that runs, for whoever shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum ToolEvent {
    /// The call begins.
    Started {
        /// The vendor's id of the call.
        tool_call_id: String,
        /// The tool's name.
        tool_name: String,
    },
    /// A command printed something.
    StdoutChunk {
        /// The vendor's id of the call.
        tool_call_id: String,
        /// Whole characters, not sanitised.
        chunk: String,
    },
    /// A command printed an error.
    StderrChunk {
        /// The vendor's id of the call.
        tool_call_id: String,
        /// Whole characters, not sanitised.
        chunk: String,
    },
    /// Something that the person should know and the result does not say.
    Noticed {
        /// The vendor's id of the call.
        tool_call_id: String,
        /// One sentence.
        text: String,
    },
    /// The call has ended, well or not.
    Completed {
        /// The vendor's id of the call.
        tool_call_id: String,
    },
}
