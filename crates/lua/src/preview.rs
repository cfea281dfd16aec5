//! One-line previews of pending calls: the generic form, and the rules for every form (FL-PREVIEW).

use serde_json::{Map, Value};

/// The summary of a tool without a formatter: scalars first, each group sorted by name.
pub fn generic(input: &Value, max_length: usize) -> String {
    let empty = Map::new();
    let fields = input.as_object().unwrap_or(&empty);
    let is_scalar = |value: &Value| !value.is_object() && !value.is_array();
    let mut names: Vec<&String> = fields.keys().collect();
    names.sort_by_key(|name| (!is_scalar(&fields[*name]), *name));
    let shown: Vec<String> =
        names.into_iter().map(|name| format!("{name}={}", value(&fields[name]))).collect();
    fit(&shown.join(", "), max_length)
}

fn value(value: &Value) -> String {
    match value {
        Value::String(text) => format!("\"{text}\""),
        Value::Array(items) => format!("[{} items]", items.len()),
        Value::Object(fields) => {
            let mut names: Vec<&str> = fields.keys().map(String::as_str).collect();
            names.sort_unstable();
            format!("{{{}}}", names.join(", "))
        }
        scalar @ (Value::Null | Value::Bool(_) | Value::Number(_)) => scalar.to_string(),
    }
}

/// On one line and within the width; what is left out is marked.
pub fn fit(text: &str, max_length: usize) -> String {
    let line = text.trim_end_matches('\n').replace("\r\n", "\n").replace(['\n', '\r'], "⤶");
    if line.chars().count() <= max_length {
        return line;
    }
    let mut cut: String = line.chars().take(max_length.saturating_sub(1)).collect();
    if max_length > 0 {
        cut.push('…');
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// FL-PREVIEW
    #[test]
    fn scalars_come_first_and_tables_are_summed_up() {
        let cases = [
            (
                json!({"b": 1, "a": "x", "list": [1, 2], "deep": {"z": 1, "y": 2}}),
                80,
                r#"a="x", b=1, deep={y, z}, list=[2 items]"#,
            ),
            (json!({"text": "one\ntwo\n"}), 80, r#"text="one⤶two⤶""#),
            (json!({"text": "a long value"}), 10, "text=\"a l…"),
            (json!({}), 10, ""),
            (json!({"on": true, "off": null}), 80, "off=null, on=true"),
        ];
        for (input, width, expected) in cases {
            assert_eq!(generic(&input, width), expected);
        }
        assert_eq!(fit("üüü", 3), "üüü");
        assert_eq!(fit("üüü", 2), "ü…");
        assert_eq!(fit("x", 0), "");
    }
}
