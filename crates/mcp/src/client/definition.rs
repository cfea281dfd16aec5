//! Tools as a server defines them, under names that every vendor takes.
//!
//! Law: a name is taken or skipped with a reason, never repaired beyond a dot. Annotations are hints of risk and
//! nothing else.

use std::collections::BTreeSet;

use jm_types::Digest;
use jm_types::text::{one_line, reveal};
use rmcp::model::Tool;
use serde_json::Value;

/// Between the server's name and the tool's.
const JOINT: &str = "__";
/// The longest name that every vendor takes.
const MOST_NAME: usize = 64;
/// The most tools of one server.
const MOST_TOOLS: usize = 512;
/// The most bytes of a definition.
const MOST_DEFINITION: usize = 256 * 1024;
/// The deepest nesting of a schema.
const DEEPEST: usize = 64;

/// A server's own words on how dangerous a tool is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RiskHint {
    /// It says that it only reads.
    ReadOnly,
    /// It says that it changes something and destroys nothing.
    Additive,
    /// It says nothing, or that it destroys.
    Destructive,
}

/// A tool under the name that a model calls it by.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedTool {
    /// `SERVER__TOOL`.
    pub name: String,
    /// The server's name for it.
    pub own_name: String,
    /// The server's text for the model.
    pub description: String,
    /// The JSON schema of its arguments.
    pub schema: Value,
    /// The server's own claim about its effects.
    pub hint: RiskHint,
    /// Of the whole definition.
    pub digest: Digest,
}

/// A tool that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedTool {
    /// Fit for a terminal.
    pub name: String,
    /// The reason in one line.
    pub why: String,
}

/// Names what a server offers.
pub(crate) fn named(server: &str, tools: Vec<Tool>) -> (Vec<NamedTool>, Vec<SkippedTool>) {
    let (mut all, mut skipped) = (Vec::new(), Vec::new());
    let mut names = BTreeSet::new();
    for (number, tool) in tools.into_iter().enumerate() {
        let shown = reveal(&one_line(&tool.name)).chars().take(MOST_NAME).collect::<String>();
        let checked = if number < MOST_TOOLS {
            definition(server, tool)
        } else {
            Err(format!("the server has more than {MOST_TOOLS} tools"))
        };
        match checked {
            Ok(tool) if names.insert(tool.name.clone()) => all.push(tool),
            Ok(_) => skipped.push(SkippedTool { name: shown, why: "the name is taken".to_owned() }),
            Err(why) => skipped.push(SkippedTool { name: shown, why }),
        }
    }
    all.sort_by(|one, other| one.name.cmp(&other.name));
    (all, skipped)
}

fn definition(server: &str, tool: Tool) -> Result<NamedTool, String> {
    let name = name(server, &tool.name)?;
    let whole = serde_json::to_vec(&tool).map_err(|error| error.to_string())?;
    if whole.len() > MOST_DEFINITION {
        return Err(format!("its definition has more than {MOST_DEFINITION} bytes"));
    }
    let schema = Value::Object((*tool.input_schema).clone());
    check_schema(&schema, 0)?;
    let annotations = tool.annotations.as_ref();
    let hint = match annotations.map(|a| (a.read_only_hint, a.destructive_hint)) {
        Some((Some(true), _)) => RiskHint::ReadOnly,
        Some((_, Some(false))) => RiskHint::Additive,
        Some(_) | None => RiskHint::Destructive,
    };
    Ok(NamedTool {
        name,
        own_name: tool.name.to_string(),
        description: tool.description.unwrap_or_default().into_owned(),
        schema,
        hint,
        digest: Digest::of(&whole),
    })
}

/// The name that a model calls the tool by.
fn name(server: &str, tool: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if tool.is_empty() || !tool.chars().all(is_plain) {
        return Err("its name has characters other than A-Z a-z 0-9 _ - .".to_owned());
    }
    let name = format!("{server}{JOINT}{}", tool.replace('.', "_"));
    match name.len() {
        length if length > MOST_NAME => {
            Err(format!("`{name}` is longer than {MOST_NAME} characters"))
        }
        _ => Ok(name),
    }
}

/// Refuses schemas that would have to be fetched, and those too deep to walk.
fn check_schema(schema: &Value, depth: usize) -> Result<(), String> {
    if depth > DEEPEST {
        return Err(format!("its schema is nested deeper than {DEEPEST}"));
    }
    match schema {
        Value::Object(fields) => {
            for key in ["$ref", "$dynamicRef"] {
                if let Some(Value::String(target)) = fields.get(key)
                    && !target.starts_with('#')
                {
                    let target = reveal(&one_line(target));
                    return Err(format!("its schema refers to {target}, which is never fetched"));
                }
            }
            fields.values().try_for_each(|value| check_schema(value, depth + 1))
        }
        Value::Array(entries) => {
            entries.iter().try_for_each(|value| check_schema(value, depth + 1))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, schema: &str) -> Tool {
        let text = format!(r#"{{"name": {}, "inputSchema": {schema}}}"#, Value::from(name));
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn each_tool_is_named_or_skipped_with_a_reason() {
        let plain = r#"{"type": "object"}"#;
        let deep = format!("{}true{}", r#"{"not":"#.repeat(70), "}".repeat(70));
        let cases = [
            ("echo", plain, Ok("s__echo")),
            ("a.b-c_d", plain, Ok("s__a_b-c_d")),
            ("a_b-c_d", plain, Err("the name is taken")),
            ("", plain, Err("its name has characters other than")),
            ("a\u{1b}[31m", plain, Err("its name has characters other than")),
            ("rm -rf", plain, Err("its name has characters other than")),
            (&"x".repeat(62), plain, Err("is longer than 64")),
            ("far", r#"{"$ref": "https://example.org/s.json"}"#, Err("never fetched")),
            ("file", r#"{"items": [{"$ref": "file:///etc/passwd"}]}"#, Err("never fetched")),
            ("near", r##"{"$ref": "#/$defs/a", "$defs": {"a": true}}"##, Ok("s__near")),
            ("deep", &deep, Err("nested deeper than 64")),
        ];
        let (named, skipped) =
            named("s", cases.iter().map(|(name, schema, _)| tool(name, schema)).collect());
        let mut names: Vec<&str> = cases.iter().filter_map(|case| case.2.ok()).collect();
        names.sort_unstable();
        assert_eq!(named.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), names);
        let reasons: Vec<&str> = cases.iter().filter_map(|case| case.2.err()).collect();
        assert_eq!(skipped.len(), reasons.len());
        for (skipped, reason) in skipped.iter().zip(reasons) {
            assert!(skipped.why.contains(reason), "{skipped:?} {reason}");
            assert!(!skipped.name.contains('\u{1b}') && !skipped.why.contains('\u{1b}'));
        }
    }
}
