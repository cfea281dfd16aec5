//! Front matter: a `lua` or `json` fence on the first line, with this document's variables and settings.
//!
//! JSON is evaluated here. Lua is only delivered as text: whoever runs it decides what it may do.

use std::collections::BTreeMap;

use jm_types::json::parse_strictly;
use memchr::memchr_iter;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use crate::span::{ByteRange, TextLine};

/// The front matter of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrontMatter {
    /// The language after the opening fence.
    pub language: FrontMatterLanguage,
    /// Both fences and what is between, without the last line end.
    pub span: ByteRange,
    /// The lines between the fences.
    pub body: ByteRange,
}

/// The language of front matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrontMatterLanguage {
    /// A script, run confined.
    Lua,
    /// A table of values.
    Json,
}

/// The kind of a document's beginning.
pub(crate) enum Start {
    None,
    Unclosed,
    /// The front matter, and the offset behind its last line.
    Closed(FrontMatter, usize),
}

/// Looks at the first line. Front matter ends at the first line of three backticks, whatever is in between.
pub(crate) fn at_start(bytes: &[u8], start: usize) -> Start {
    let Some(first) = TextLine::at(bytes, start) else { return Start::None };
    let language = match first.range().of(bytes).trim_ascii_end() {
        b"```lua" => FrontMatterLanguage::Lua,
        b"```json" => FrontMatterLanguage::Json,
        _ => return Start::None,
    };
    let mut at = first.next;
    while let Some(line) = TextLine::at(bytes, at) {
        if line.range().of(bytes).trim_ascii_end() == b"```" {
            let span = ByteRange::new(start, line.end);
            let body = ByteRange::new(first.next, line.start);
            return Start::Closed(FrontMatter { language, span, body }, line.next);
        }
        at = line.next;
    }
    Start::Unclosed
}

/// A fault of front matter, at a place in the document. Nothing is sent until it is repaired.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: front matter: {message}")]
pub struct FrontMatterError {
    /// The line in the document, from 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// The fault in one sentence.
    pub message: String,
}

/// JSON front matter, evaluated.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JsonFrontMatter {
    /// The variables of templates: every key but `flemma`.
    pub variables: Map<String, Value>,
    /// The settings under `flemma`, by their path, such as `tools.auto_approve`.
    pub settings: BTreeMap<String, JsonSetting>,
}

/// A setting of front matter.
#[derive(Debug, Clone, PartialEq)]
pub enum JsonSetting {
    /// Replaces the setting.
    Value(Value),
    /// Changes a list.
    List(ListChange),
}

/// A change of a list setting: `$set`, then `$append` and `$prepend`, then `$remove`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListChange {
    /// The list to start from; `None` for the one in force.
    pub set: Option<Vec<String>>,
    /// Names put behind it.
    pub append: Vec<String>,
    /// Names put before it.
    pub prepend: Vec<String>,
    /// Names taken out last.
    pub remove: Vec<String>,
}

/// A list setting in force.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListValue {
    /// The names that count.
    pub items: Vec<String>,
    /// Names that were removed, which do not come back out of a preset either.
    pub removed: Vec<String>,
}

impl ListChange {
    /// The list that comes of a default one.
    pub fn apply(&self, defaults: &[String]) -> ListValue {
        let mut items = Vec::new();
        let start = self.set.as_deref().unwrap_or(defaults);
        for item in self.prepend.iter().chain(start).chain(&self.append) {
            if !items.contains(item) {
                items.push(item.clone());
            }
        }
        items.retain(|item| !self.remove.contains(item));
        ListValue { items, removed: self.remove.clone() }
    }
}

impl FrontMatter {
    /// The text between the fences.
    pub fn text(&self, bytes: &[u8]) -> String {
        self.body.text_of(bytes)
    }

    /// Evaluates JSON; `None` for Lua, which is another crate's work.
    pub fn evaluate(&self, bytes: &[u8]) -> Option<Result<JsonFrontMatter, FrontMatterError>> {
        match self.language {
            FrontMatterLanguage::Lua => None,
            FrontMatterLanguage::Json => Some(self.evaluate_json(bytes)),
        }
    }

    fn evaluate_json(&self, bytes: &[u8]) -> Result<JsonFrontMatter, FrontMatterError> {
        let above = memchr_iter(b'\n', &bytes[..self.body.start]).count();
        let fault = |line: usize, column: usize, message: String| FrontMatterError {
            line: above + line,
            column: column.max(1),
            message,
        };
        let text = std::str::from_utf8(self.body.of(bytes))
            .map_err(|error| fault(1, 1, error.to_string()))?;
        if text.trim().is_empty() {
            return Ok(JsonFrontMatter::default());
        }
        // The first reading gives the place of a fault, the second refuses keys that are given twice.
        serde_json::from_str::<IgnoredAny>(text)
            .map_err(|error| fault(error.line(), error.column(), bare(&error)))?;
        let value = parse_strictly(text).map_err(|message| fault(1, 1, message))?;
        let Value::Object(mut variables) = value else {
            return Err(fault(1, 1, "it must be a JSON object".to_owned()));
        };
        let mut settings = BTreeMap::new();
        if let Some(flemma) = variables.remove("flemma") {
            let Value::Object(flemma) = flemma else {
                return Err(fault(1, 1, "`flemma` must be an object".to_owned()));
            };
            collect("", flemma, &mut settings).map_err(|message| fault(1, 1, message))?;
        }
        Ok(JsonFrontMatter { variables, settings })
    }
}

/// The message without the place that it ends with.
fn bare(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.clone(), |(message, _)| message.to_owned())
}

/// Takes the settings out of an object: list operators are of the object itself, other keys below it.
fn collect(
    path: &str,
    object: Map<String, Value>,
    settings: &mut BTreeMap<String, JsonSetting>,
) -> Result<(), String> {
    let mut change = None;
    for (key, value) in object {
        if key.starts_with('$') {
            let change: &mut ListChange = change.get_or_insert_default();
            let names =
                names(value).ok_or_else(|| format!("`{path}.{key}` must be a list of names"))?;
            match key.as_str() {
                "$set" => change.set = Some(names),
                "$append" => change.append = names,
                "$prepend" => change.prepend = names,
                "$remove" => change.remove = names,
                _ => {
                    let known = "use $set, $append, $prepend or $remove";
                    return Err(format!("`{path}.{key}` is not a list operator; {known}"));
                }
            }
            continue;
        }
        let path = if path.is_empty() { key } else { format!("{path}.{key}") };
        match value {
            Value::Object(object) => collect(&path, object, settings)?,
            list @ Value::Array(_) => {
                let setting = match names(list.clone()) {
                    Some(names) => {
                        JsonSetting::List(ListChange { set: Some(names), ..ListChange::default() })
                    }
                    None => JsonSetting::Value(list),
                };
                settings.insert(path, setting);
            }
            other => {
                settings.insert(path, JsonSetting::Value(other));
            }
        }
    }
    if let Some(change) = change {
        settings.insert(path.to_owned(), JsonSetting::List(change));
    }
    Ok(())
}

/// One name, or a list of names.
fn names(value: Value) -> Option<Vec<String>> {
    let name = |value: Value| match value {
        Value::String(name) => Some(name),
        _ => None,
    };
    match value {
        Value::Array(items) => items.into_iter().map(name).collect(),
        one => name(one).map(|name| vec![name]),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ChatDocument;

    fn evaluate(json: &str) -> Result<JsonFrontMatter, FrontMatterError> {
        let document = ChatDocument::parse(format!("```json\n{json}\n```\n@You:\n"));
        document.front_matter().unwrap().evaluate(document.bytes()).unwrap()
    }

    #[test]
    fn keys_are_variables_and_flemma_is_settings() {
        let text = r#"{"n": 1, "flemma": {"tools": {"$append": "x", "auto_approve": {"$set": ["y"]}},
                       "anthropic": {"thinking_budget": 5}, "odd": [1]}}"#;
        let read = evaluate(text).unwrap();
        assert_eq!(Value::Object(read.variables), json!({"n": 1}));
        let list = |change| JsonSetting::List(change);
        let expected = BTreeMap::from([
            ("anthropic.thinking_budget".to_owned(), JsonSetting::Value(json!(5))),
            ("odd".to_owned(), JsonSetting::Value(json!([1]))),
            (
                "tools".to_owned(),
                list(ListChange { append: vec!["x".to_owned()], ..ListChange::default() }),
            ),
            (
                "tools.auto_approve".to_owned(),
                list(ListChange { set: Some(vec!["y".to_owned()]), ..ListChange::default() }),
            ),
        ]);
        assert_eq!(read.settings, expected);
        assert_eq!(evaluate(" ").unwrap(), JsonFrontMatter::default());
    }

    #[test]
    fn faults_have_a_place() {
        let cases = [
            ("{\n\"a\": }", "3:6: front matter: expected value"),
            ("[]", "2:1: front matter: it must be a JSON object"),
            ("{\"flemma\": 1}", "2:1: front matter: `flemma` must be an object"),
            (
                "{\"flemma\": {\"tools\": {\"$add\": []}}}",
                "2:1: front matter: `tools.$add` is not a list operator; use $set, $append, $prepend or \
                 $remove",
            ),
            (
                "{\"flemma\": {\"tools\": {\"$set\": 1}}}",
                "2:1: front matter: `tools.$set` must be a list of names",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(evaluate(text).unwrap_err().to_string(), expected, "{text}");
        }
        assert!(evaluate("{\"a\": 1, \"a\": 2}").unwrap_err().message.contains("duplicate key"));
    }

    #[test]
    fn list_operators_change_a_default() {
        let names = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let defaults = names("$default calc");
        let cases = [
            (ListChange::default(), "$default calc", ""),
            (ListChange { set: Some(names("a b a")), ..ListChange::default() }, "a b", ""),
            (
                ListChange {
                    append: names("bash calc"),
                    prepend: names("ls"),
                    remove: names("calc write"),
                    ..ListChange::default()
                },
                "ls $default bash",
                "calc write",
            ),
        ];
        for (change, items, removed) in cases {
            let expected = ListValue { items: names(items), removed: names(removed) };
            assert_eq!(change.apply(&defaults), expected, "{change:?}");
        }
    }
}
