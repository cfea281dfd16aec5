//! The content of a fenced `tool-call` block: one JSON object with `id`, `name`, `args` and perhaps
//! `meta` (FJ-PROTO-01).
//!
//! Law: whoever reads such blocks, from a model's answer or from standard input, reads them here, so that
//! one block is the same call everywhere.

use serde_json::{Map, Value};

use crate::json::parse_strictly;

/// The word behind the fence.
pub const OPENING: &str = "tool-call";

/// The remedy for every block that is no call.
pub const REMEDY: &str =
    "write one JSON object a block: {\"id\": \"1\", \"name\": \"NAME\", \"args\": {…}}";

/// A block that is a call.
#[derive(Debug, Clone, PartialEq)]
pub struct FencedCall {
    /// The writer's own id of the call.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments as JSON.
    pub args: Value,
    /// The call's remarks besides its arguments, where it has any.
    pub meta: Option<Value>,
}

/// A block that is no call: what it did say, and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FencedFault {
    /// The id, if that much was read.
    pub id: Option<String>,
    /// The tool's name, if that much was read.
    pub name: Option<String>,
    /// The fault in one sentence.
    pub why: String,
}

impl FencedFault {
    /// A block of which nothing is understood.
    pub fn unread(why: impl Into<String>) -> Self {
        Self { id: None, name: None, why: why.into() }
    }
}

/// Reads the text of a block. Comments are passed over, as the document's own example has one; unknown
/// fields are ignored.
pub fn parse_fenced_call(text: &str) -> Result<FencedCall, FencedFault> {
    let value = parse_strictly(&without_comments(text))
        .map_err(|why| FencedFault::unread(format!("the block is not JSON: {why}")))?;
    let text_of = |key: &str| match value.get(key) {
        Some(Value::String(text)) => Some(text.clone()),
        // Counters are ids too.
        Some(Value::Number(number)) if key == "id" => Some(number.to_string()),
        _ => None,
    };
    let (id, name) = (text_of("id").filter(|id| !id.is_empty()), text_of("name"));
    let fault = |why: String| FencedFault { id: id.clone(), name: name.clone(), why };
    let needed = |key: &str, article: &str| match value.get(key) {
        None => fault(format!("a {OPENING} block needs {article} `{key}`")),
        Some(Value::String(_)) => {
            fault(format!("the `{key}` of a {OPENING} block must not be empty"))
        }
        Some(_) => fault(format!("the `{key}` of a {OPENING} block must be a string")),
    };
    let given = id.clone().ok_or_else(|| needed("id", "an"))?;
    let tool = name.clone().ok_or_else(|| needed("name", "a"))?;
    let args = value.get("args").cloned().unwrap_or_else(|| Value::Object(Map::new()));
    let is_something = |meta: &&Value| meta.as_object().is_none_or(|meta| !meta.is_empty());
    let meta = value.get("meta").filter(is_something).cloned();
    Ok(FencedCall { id: given, name: tool, args, meta })
}

/// The text with `// …` and `/* … */` outside strings taken away.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['"', '/']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = match () {
            () if rest.starts_with('"') => {
                let length = string_length(rest);
                out.push_str(&rest[..length]);
                length
            }
            () if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            () if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            () => {
                out.push('/');
                1
            }
        };
        rest = &rest[length..];
    }
    out.push_str(rest);
    out
}

/// How long the string at the start of a text is, quotes included.
fn string_length(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        match (is_escaped, letter) {
            (false, '"') => return at + 1,
            (false, '\\') => is_escaped = true,
            _ => is_escaped = false,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(text: &str, expected: Result<(&str, &str, Value, Option<Value>), &str>) {
        let found = parse_fenced_call(text);
        let found = found.as_ref().map(|call| {
            (call.id.as_str(), call.name.as_str(), call.args.clone(), call.meta.clone())
        });
        assert_eq!(found.map_err(|fault| fault.why.as_str()), expected, "{text}");
    }

    /// FJ-PROTO-01: the document's own example, and what is required of a call.
    #[test]
    fn a_block_is_a_call_or_says_what_is_missing() {
        let example = "{\n  \"id\": \"uuid-or-counter\",\n  \"name\": \"read_file\",\n  \"args\": {\n    \
                       \"path\": \"src/foo.el\",\n    \"max_bytes\": 65536\n  },\n  \"meta\": {\n    \
                       \"cwd\": \".\",            // must be project root or a subdirectory\n    \
                       \"timeout\": 10\n  }\n}";
        let args = json!({"path": "src/foo.el", "max_bytes": 65536});
        let meta = Some(json!({"cwd": ".", "timeout": 10}));
        check(example, Ok(("uuid-or-counter", "read_file", args, meta)));
        check(r#"{"id":5,"name":"f","more":1,"meta":{}}"#, Ok(("5", "f", json!({}), None)));
        let args = json!({"u": "http://h//x", "q": "\\\"// no"});
        let text =
            r#"/* a */ {"id":"1","name":"f","args":{"u":"http://h//x","q":"\\\"// no"}} // b"#;
        check(text, Ok(("1", "f", args, None)));
        let wrong = [
            (r#"{"name":"f"}"#, "a tool-call block needs an `id`"),
            (r#"{"id":"","name":"f"}"#, "the `id` of a tool-call block must not be empty"),
            (r#"{"id":[],"name":"f"}"#, "the `id` of a tool-call block must be a string"),
            (r#"{"id":"1"}"#, "a tool-call block needs a `name`"),
            (r#"{"id":"1","name":5}"#, "the `name` of a tool-call block must be a string"),
        ];
        for (text, why) in wrong {
            check(text, Err(why));
        }
        assert!(parse_fenced_call("{/").unwrap_err().why.starts_with("the block is not JSON"));
    }
}
