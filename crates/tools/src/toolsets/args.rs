//! The parser of a call's arguments.

use jm_types::ToolError;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Parses arguments: the one boundary from JSON to types (FR-REG-02). Arguments have names: a list would
/// be taken by position.
pub fn parse_args<A: DeserializeOwned>(args: Value) -> Result<A, ToolError> {
    if !args.is_object() {
        let kind = json_type(&args);
        return Err(ToolError::bad_args(format!("expected a JSON object, got {kind}")));
    }
    serde_json::from_value(args).map_err(|error| ToolError::bad_args(error.to_string()))
}

/// The JSON type of a value, with its article.
fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
