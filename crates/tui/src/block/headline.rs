//! A call in one line: its tool and what matters of its arguments (FL-PREVIEW, FJ-UI).
//!
//! Law: arguments are read by what they are called, not by which tool has them, so that a foreign
//! tool is shown as well as our own. Values are on one line and secrets are redacted.

use jm_types::text::{one_line, redact_command};
use serde_json::{Map, Value};

use crate::text::{Line, Role};

const COMMANDS: &[&str] = &["command", "cmd", "script"];
const PATHS: &[&str] = &["path", "file_path", "filePath", "file", "filename", "directory", "dir"];
const PATTERNS: &[&str] = &["pattern", "query", "regex", "glob", "search"];
/// Arguments whose size says enough.
const CONTENTS: &[&str] =
    &["content", "contents", "text", "old_string", "new_string", "patch", "edits", "new_text"];
/// The longest value that is shown of an argument without a form of its own.
const LONGEST_VALUE: usize = 60;

/// The tool's name, or `$` for a command, and its arguments.
pub fn headline(name: &str, arguments: &str) -> Line {
    let name = one_line(name);
    let Ok(Value::Object(object)) = serde_json::from_str::<Value>(arguments) else {
        let shown: String = one_line(arguments).chars().take(LONGEST_VALUE).collect();
        return Line::of(name, Role::Text).add(format!(" {shown}"), Role::Muted);
    };
    if let Some(command) = text(&object, COMMANDS) {
        let command = redact_command(command);
        let mut lines = command.trim().lines();
        let mut line =
            Line::of("$ ", Role::Muted).add(one_line(lines.next().unwrap_or("")), Role::Text);
        let more = lines.count();
        if more > 0 {
            line.push(format!(" ⏎ +{more}"), Role::Muted);
        }
        return line;
    }
    let mut line = Line::of(name, Role::Text);
    if let Some(pattern) = text(&object, PATTERNS) {
        line.push(format!(" {}", quoted(pattern)), Role::Code);
    }
    let files = patched(&object);
    match (text(&object, PATHS), files.as_slice()) {
        (Some(path), _) => line.push(format!(" {}", one_line(path)), Role::Code),
        (None, []) => {}
        (None, files) => line.push(format!(" {}", files.join(", ")), Role::Code),
    }
    if let Some(range) = range(&object) {
        line.push(format!(" {range}"), Role::Muted);
    }
    if line.spans.len() == 1 {
        line.push(generic(&object), Role::Muted);
    }
    line
}

fn text<'a>(object: &'a Map<String, Value>, names: &[&str]) -> Option<&'a str> {
    names.iter().find_map(|name| object.get(*name)?.as_str())
}

fn quoted(text: &str) -> String {
    let shown: String = one_line(text).chars().take(LONGEST_VALUE).collect();
    format!("\"{shown}\"")
}

/// The files of a line patch (`F path`) or of a list of edits.
fn patched(object: &Map<String, Value>) -> Vec<String> {
    if let Some(patch) = object.get("patch").and_then(Value::as_str) {
        let files = patch.lines().filter_map(|line| {
            let file = line.strip_prefix("F ").or_else(|| line.strip_prefix("+++ b/"));
            file.map(|file| one_line(file.trim()))
        });
        return files.collect();
    }
    let Some(edits) = object.get("edits").and_then(Value::as_array) else { return Vec::new() };
    let mut files: Vec<String> =
        edits.iter().filter_map(|edit| text(edit.as_object()?, PATHS)).map(one_line).collect();
    files.dedup();
    files
}

/// `1–40`, from whichever words a tool has for it.
fn range(object: &Map<String, Value>) -> Option<String> {
    let number = |names: &[&str]| names.iter().find_map(|name| object.get(*name)?.as_u64());
    let first = number(&["start_line", "line_start", "from_line", "start", "offset"]);
    let last = number(&["end_line", "line_end", "to_line", "end"]);
    let limit = number(&["limit", "max_lines"]);
    match (first, last, limit) {
        (None, None, None) => None,
        (first, Some(last), _) => Some(format!("{}–{last}", first.unwrap_or(1))),
        (first, None, Some(limit)) => {
            let first = first.unwrap_or(1);
            Some(format!("{first}–{}", first + limit.saturating_sub(1)))
        }
        (Some(first), None, None) => Some(format!("{first}–")),
    }
}

/// Scalars first, then the sizes of everything else.
fn generic(object: &Map<String, Value>) -> String {
    let mut words = Vec::new();
    let (plain, nested): (Vec<_>, Vec<_>) =
        object.iter().partition(|(_, value)| !value.is_object() && !value.is_array());
    for (name, value) in plain {
        let shown = match value {
            Value::String(text) if CONTENTS.contains(&name.as_str()) => {
                format!("{} characters", text.chars().count())
            }
            Value::String(text) => quoted(&redact_command(text)),
            other => other.to_string(),
        };
        words.push(format!("{}={shown}", one_line(name)));
    }
    for (name, value) in nested {
        let size = match value {
            Value::Array(items) => format!("[{} items]", items.len()),
            _ => "{…}".to_owned(),
        };
        words.push(format!("{}={size}", one_line(name)));
    }
    words.iter().map(|word| format!(" {word}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_matters_of_each_call() {
        let cases = [
            (
                "read_file",
                r#"{"path":"src/main.rs","start_line":1,"end_line":40}"#,
                "read_file src/main.rs 1–40",
            ),
            ("read", r#"{"file_path":"a","offset":10,"limit":5}"#, "read a 10–14"),
            ("run_command", r#"{"command":"cargo test"}"#, "$ cargo test"),
            ("bash", r#"{"command":"a\nb\nc"}"#, "$ a ⏎ +2"),
            ("search", r#"{"pattern":"fn main","path":"src"}"#, r#"search "fn main" src"#),
            (
                "apply_patch",
                r#"{"patch":"LP1\nF a.txt\nR\nx\n.\ny\n.\nF b.txt\nEND\n"}"#,
                "apply_patch a.txt, b.txt",
            ),
            (
                "multi_edit",
                r#"{"edits":[{"path":"a"},{"path":"a"},{"path":"b"}]}"#,
                "multi_edit a, b",
            ),
            (
                "todo_write",
                r#"{"items":[1,2],"note":"x"}"#,
                r#"todo_write note="x" items=[2 items]"#,
            ),
            ("write_file", r#"{"content":"secret"}"#, "write_file content=6 characters"),
            ("odd", "not json\u{1b}[2J", "odd not json\\x1b[2J"),
            ("run", r#"{"command":"curl -u me:hunter22 h"}"#, "$ curl -u me:[redacted] h"),
        ];
        for (name, arguments, expected) in cases {
            assert_eq!(headline(name, arguments).plain(), expected);
        }
    }
}
