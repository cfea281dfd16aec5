//! A JSON Schema for a text, with the reader of a Markdown fence around it.

use jm_types::text::Fence;
use serde_json::Value;

use crate::schema::compiled::{compile, describe};

/// A schema that can be held against texts, because it is one.
#[derive(Debug)]
pub struct Schema {
    value: Value,
    validator: jsonschema::Validator,
}

impl Schema {
    /// The error says why this is no schema.
    pub fn new(value: Value) -> Result<Self, String> {
        // `true` and `false` are schemas too, but nobody writes a file to say them.
        if !value.is_object() {
            return Err("a schema is a JSON object".to_owned());
        }
        let validator = compile(&value)?;
        Ok(Self { value, validator })
    }

    /// The JSON that the text is, also where it stands alone in a fenced block. The error says what
    /// is wrong and where.
    pub fn check<'a>(&self, text: &'a str) -> Result<&'a str, String> {
        let text = unfenced(text.trim());
        let value: Value =
            serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))?;
        let violations: Vec<String> =
            self.validator.iter_errors(&value).take(5).map(describe).collect();
        if violations.is_empty() { Ok(text) } else { Err(violations.join("; ")) }
    }
}

impl std::fmt::Display for Schema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.value.fmt(f)
    }
}

/// The content of a text that is one fenced block of Markdown, into which models like to put JSON, whatever
/// they are told; any other text as it is.
fn unfenced(text: &str) -> &str {
    let inside = || {
        let (opening, rest) = text.split_once('\n')?;
        let (fence, word) = Fence::opened_by(opening)?;
        let (inside, closing) = rest.rsplit_once('\n')?;
        let is_json = fence.is_of_backquotes() && matches!(word, "" | "json");
        (is_json && fence.is_closed_by(closing)).then(|| inside.trim())
    };
    inside().unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_text_is_held_against_its_schema() {
        let schema = Schema::new(json!({"type": "object", "required": ["n"]})).unwrap();
        let whole = "{\"n\": 1}";
        for text in [
            " {\"n\": 1}\n",
            "```json\n{\"n\": 1}\n```",
            "```\n{\"n\": 1}\n```\n",
            "````json \n{\"n\": 1}\n````",
        ] {
            assert_eq!(schema.check(text), Ok(whole), "{text}");
        }
        for (text, wrong) in [
            ("{}", "\"n\""),
            ("n is 1", "not JSON"),
            ("Here:\n```json\n{\"n\": 1}\n```", "not JSON"),
            ("```json\n{\"n\": 1}", "not JSON"),
            ("```json\n{}\n```\n```json\n{\"n\": 1}\n```", "not JSON"),
        ] {
            assert!(schema.check(text).unwrap_err().contains(wrong), "{text}");
        }
    }

    #[test]
    fn what_is_no_schema_is_refused() {
        for value in [json!("x"), json!(true), json!({"type": 5}), json!({"$ref": "http://h/x"})] {
            assert!(Schema::new(value.clone()).is_err(), "{value}");
        }
    }
}
