//! A call as a client shows it: its kind, the places it is about, and its content.
//!
//! Law: arguments are read by what they are called, not by which tool has them, so that a foreign tool is shown as
//! well as our own. Paths are absolute.

use std::path::Path;

use agent_client_protocol_schema::v1::{
    Content, ContentBlock, Diff, TextContent, ToolCallContent, ToolCallLocation, ToolKind,
};
use jm_types::text::fence_for;
use serde_json::Value;

use crate::diff::HunkText;

const COMMANDS: &[&str] = &["command", "cmd", "script"];
const PATHS: &[&str] = &["path", "file_path", "filePath", "file", "filename", "directory", "dir"];
const PATTERNS: &[&str] = &["pattern", "query", "regex", "glob", "search"];
const CONTENTS: &[&str] =
    &["content", "contents", "new_string", "new_content", "patch", "edits", "new_text"];
const LINES: &[&str] = &["start_line", "line_start", "from_line", "line"];

/// The kind of a call, for its icon.
pub fn call_kind(name: &str, arguments: &Value) -> ToolKind {
    let has = |names: &[&str]| names.iter().any(|name| arguments.get(name).is_some());
    let is_named = |words: &[&str]| words.iter().any(|word| name.contains(word));
    if is_named(&["todo", "task", "plan", "think"]) {
        ToolKind::Think
    } else if has(COMMANDS) || is_named(&["run_tests", "process"]) {
        ToolKind::Execute
    } else if is_named(&["delete", "remove"]) {
        ToolKind::Delete
    } else if is_named(&["move", "rename"]) {
        ToolKind::Move
    } else if has(CONTENTS) {
        ToolKind::Edit
    } else if has(PATTERNS) {
        ToolKind::Search
    } else if has(&["url", "uri"]) {
        ToolKind::Fetch
    } else if has(PATHS) {
        ToolKind::Read
    } else {
        ToolKind::Other
    }
}

/// The places that the arguments name, beneath the root.
pub fn call_locations(root: &Path, arguments: &Value) -> Vec<ToolCallLocation> {
    let text = |value: &Value| {
        let path = PATHS.iter().find_map(|name| value.get(name)?.as_str())?;
        let line = LINES.iter().find_map(|name| value.get(name)?.as_u64());
        let line = line.and_then(|line| u32::try_from(line).ok()).filter(|line| *line > 0);
        Some(ToolCallLocation::new(root.join(path)).line(line))
    };
    let edits = arguments.get("edits").and_then(Value::as_array).into_iter().flatten();
    let mut places: Vec<ToolCallLocation> =
        std::iter::once(arguments).chain(edits).filter_map(text).collect();
    places.dedup();
    places
}

/// The places of a diff.
pub fn diff_locations(root: &Path, hunks: &[HunkText]) -> Vec<ToolCallLocation> {
    let place = |hunk: &HunkText| ToolCallLocation::new(root.join(&hunk.path)).line(hunk.line);
    hunks.iter().map(place).collect()
}

/// The hunks as a client draws them.
pub fn diff_contents(root: &Path, hunks: &[HunkText]) -> Vec<ToolCallContent> {
    let diff = |hunk: &HunkText| {
        let diff = Diff::new(root.join(&hunk.path), hunk.new.clone()).old_text(hunk.old.clone());
        ToolCallContent::Diff(diff)
    };
    hunks.iter().map(diff).collect()
}

/// Text as it is, in a fence that nothing in it closes: clients read it as Markdown.
pub fn fenced_content(text: &str) -> ToolCallContent {
    let fence = fence_for(text);
    let text = text.trim_end_matches('\n');
    let block = ContentBlock::Text(TextContent::new(format!("{fence}\n{text}\n{fence}")));
    ToolCallContent::Content(Content::new(block))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_has_the_kind_of_what_it_does() {
        let cases = [
            ("read_file", json!({"path": "a"}), ToolKind::Read),
            (
                "edit_file",
                json!({"path": "a", "old_string": "b", "new_string": "c"}),
                ToolKind::Edit,
            ),
            ("edit_region", json!({"path": "a", "new_content": "b"}), ToolKind::Edit),
            ("apply_patch", json!({"patch": "LP1"}), ToolKind::Edit),
            ("run_command", json!({"command": "ls"}), ToolKind::Execute),
            ("search", json!({"pattern": "x", "path": "src"}), ToolKind::Search),
            ("todo_write", json!({"action": "create"}), ToolKind::Think),
            ("delete_file", json!({"path": "a"}), ToolKind::Delete),
            ("move_file", json!({"path": "a"}), ToolKind::Move),
            ("web__get", json!({"url": "https://example.org"}), ToolKind::Fetch),
            ("git__status", json!({}), ToolKind::Other),
            ("broken", Value::Null, ToolKind::Other),
        ];
        for (name, arguments, expected) in cases {
            assert_eq!(call_kind(name, &arguments), expected, "{name}");
        }
    }

    #[test]
    fn places_are_absolute_and_lines_count_from_one() {
        let places = |arguments: Value| call_locations(Path::new("/w"), &arguments);
        let place = |path: &str| ToolCallLocation::new(path);
        assert_eq!(places(json!({"path": "a", "start_line": 4})), [place("/w/a").line(4)]);
        assert_eq!(places(json!({"path": "/b", "line": 0})), [place("/b")]);
        let edits = json!({"edits": [{"path": "a"}, {"path": "a"}, {"path": "c"}]});
        assert_eq!(places(edits), [place("/w/a"), place("/w/c")]);
        assert_eq!(places(json!([1])), []);
    }

    #[test]
    fn a_fence_is_longer_than_any_inside() {
        let ToolCallContent::Content(content) = fenced_content("```\nx\n```\n") else {
            panic!("content");
        };
        let ContentBlock::Text(text) = content.content else { panic!("text") };
        assert_eq!(text.text, "````\n```\nx\n```\n````");
    }
}
