//! JSON Schemas of Draft 2020-12, compiled, and their violations in words.

use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

/// Compiles a schema. One that refers to another document is an error, never a fetch.
pub(crate) fn compile(schema: &Value) -> Result<jsonschema::Validator, String> {
    jsonschema::options()
        .with_draft(jsonschema::Draft::Draft202012)
        .build(schema)
        .map_err(|error| error.to_string())
}

/// A violation, with its place.
pub(crate) fn describe(error: jsonschema::ValidationError<'_>) -> String {
    // The offending value can be as large as the arguments; the place and the rule are enough.
    let message: String = match error.kind() {
        ValidationErrorKind::Enum { options } => not_one_of(error.instance(), options),
        _ => error.to_string().chars().take(200).collect(),
    };
    match error.instance_path().to_string() {
        place if place.is_empty() => message,
        place => format!("{place}: {message}"),
    }
}

/// Names all that are possible, so that the next call can be right.
fn not_one_of(value: &Value, options: &Value) -> String {
    let value: String = value.to_string().chars().take(60).collect();
    let options: Vec<String> =
        options.as_array().into_iter().flatten().map(Value::to_string).collect();
    format!("{value} is not one of {}", options.join(", "))
}
