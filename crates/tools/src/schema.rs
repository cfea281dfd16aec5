//! Whether a text is the JSON that a schema asks for.

use serde_json::Value;

use crate::registry::{compile, describe};

/// The error says what is wrong and where.
pub fn check_text(schema: &Value, text: &str) -> Result<(), String> {
    let value: Value =
        serde_json::from_str(text.trim()).map_err(|error| format!("it is not JSON: {error}"))?;
    let validator = compile(schema)?;
    let violations: Vec<String> = validator.iter_errors(&value).take(5).map(describe).collect();
    if violations.is_empty() { Ok(()) } else { Err(violations.join("; ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_held_against_its_schema() {
        let schema = serde_json::json!({"type": "object", "required": ["n"]});
        assert_eq!(check_text(&schema, " {\"n\": 1}\n"), Ok(()));
        assert!(check_text(&schema, "{}").unwrap_err().contains("\"n\""));
        assert!(check_text(&schema, "n is 1").unwrap_err().contains("not JSON"));
    }
}
