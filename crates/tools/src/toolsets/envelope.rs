//! The envelope of a toolset: one form for the answer of a success and one for that of a failure.
//!
//! Law: an envelope is whole. Where an answer is too long, what is inside is cut, never the frame
//! around it.

use jm_types::text::json_length::{json_length, json_length_of};
use jm_types::text::truncate;
use jm_types::text::truncate::MARKER;
use jm_types::{ErrorKind, ToolCall, ToolError};
use serde_json::Value;

use crate::tool::Output;

/// The call that is answered.
#[derive(Debug, Clone, Copy)]
pub struct CallRef<'a> {
    /// The vendor's id.
    pub id: &'a str,
    /// The tool's name.
    pub name: &'a str,
}

impl<'a> From<&'a ToolCall> for CallRef<'a> {
    fn from(call: &'a ToolCall) -> Self {
        Self { id: &call.id, name: &call.name }
    }
}

/// A set's two forms. Each gives at most the number of bytes it is handed, but for an output that
/// says of itself that it is whole.
#[derive(Debug)]
pub struct Envelope {
    /// The form of a success.
    pub success: fn(CallRef<'_>, Output, usize) -> String,
    /// The form of a failure.
    pub failure: fn(CallRef<'_>, &ToolError, usize) -> String,
    /// The number of bytes that the form of a success adds to what a tool says.
    pub frame: fn(CallRef<'_>) -> usize,
}

impl Envelope {
    /// The bytes that are left of `limit` for the tool's own words.
    pub(crate) fn room(&self, call: CallRef<'_>, limit: usize) -> usize {
        limit.saturating_sub((self.frame)(call))
    }
}

/// Plain text; hints are lines of their own.
pub const TEXT: Envelope =
    Envelope { success: text_of_success, failure: text_of_failure, frame: |_| 0 };

fn text_of_success(_: CallRef<'_>, output: Output, limit: usize) -> String {
    match output {
        Output::Text(text) => truncate(text, limit),
        Output::Whole(text) => text,
        Output::Json(value) => value.to_string(),
    }
}

fn text_of_failure(_: CallRef<'_>, error: &ToolError, limit: usize) -> String {
    match json_message(error) {
        Some(json) => json.to_owned(),
        None => truncate(with_hints(error), limit),
    }
}

/// A tool's own JSON error goes through untouched (FR-ERR-JSON-TOOL-01, 02).
pub fn json_message(error: &ToolError) -> Option<&str> {
    let ErrorKind::ExecutionFailed { message, .. } = &error.kind else { return None };
    let parsed: Option<Value> = serde_json::from_str(message).ok();
    parsed.filter(Value::is_object).map(|_| message.as_str())
}

/// The message, what to do next, and what there was before the failure: in this order, so that a
/// cut takes from the end.
pub(crate) fn with_hints(error: &ToolError) -> String {
    let mut text = message_of(error);
    for hint in &error.hints {
        text.push_str("\nhint: ");
        text.push_str(hint);
    }
    if let Some(output) = &error.output {
        text.push_str("\n\n");
        text.push_str(output);
    }
    text
}

/// The message of an error, in one sentence.
pub fn message_of(error: &ToolError) -> String {
    match &error.kind {
        ErrorKind::ExecutionFailed { tool, message } => format!("{tool} failed: {message}"),
        _ => error.to_string(),
    }
}

/// The beginning of `text` whose JSON form, quotes not counted, takes at most `room` bytes; a cut
/// is marked as in plain text.
pub fn text_within(text: &str, room: usize) -> String {
    if json_length(text) <= room { text.to_owned() } else { beginning_within(text, room) }
}

/// The same for a text that is known to go on: it is marked as cut in any case.
pub fn beginning_within(text: &str, room: usize) -> String {
    let Some(left) = room.checked_sub(json_length(MARKER)) else { return String::new() };
    [prefix_within(text, left), MARKER].concat()
}

/// The longest prefix whose JSON form, quotes not counted, takes at most `room` bytes; unmarked, for
/// results that say in a field of their own that they are cut.
pub fn prefix_within(text: &str, room: usize) -> &str {
    let mut used = 0;
    let overflows = |(_, c): &(usize, char)| {
        used += json_length_of(*c);
        used > room
    };
    let end = text.char_indices().find(overflows).map_or(text.len(), |(at, _)| at);
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_to_its_room_at_every_room() {
        let text = "a\"b\\c\nd\u{1}é😀".repeat(40);
        for room in 0..json_length(&text) + 2 {
            let cut = text_within(&text, room);
            assert!(json_length(&cut) <= room, "{room}: {cut:?}");
            match cut.strip_suffix(MARKER) {
                Some(start) => assert!(text.starts_with(start), "{room}"),
                None => assert!(cut == text || cut.is_empty(), "{room}: {cut:?}"),
            }
        }
        assert_eq!(text_within(&text, json_length(&text)), text);
    }
}
