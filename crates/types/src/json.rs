//! Reading JSON that a stranger wrote.
//!
//! Law: what a person is shown is what is executed, so text that two parsers could read in two ways
//! (a key given twice) is refused.

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Parses one JSON document. Nesting is bounded (at 128) by the parser.
pub fn parse_strictly(text: &str) -> Result<Value, String> {
    serde_json::from_str::<Strict>(text).map(|strict| strict.0).map_err(|error| error.to_string())
}

/// Beyond this, a floating point number no longer says which whole number is meant.
const LARGEST_EXACT: f64 = 9_007_199_254_740_992.0;

struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrictVisitor).map(Strict)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    /// `2.0` is a whole number, to JSON Schema and so to everybody behind it.
    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        if value.fract() == 0.0 && value.abs() < LARGEST_EXACT {
            return Ok(Value::from(value as i64));
        }
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("number is not finite"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(Strict(item)) = seq.next_element()? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some((key, Strict(value))) = entries.next_entry::<String, Strict>()? {
            if map.contains_key(&key) {
                return Err(de::Error::custom(format!("duplicate key `{key}`")));
            }
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_documents_are_refused_and_ordinary_ones_read() {
        let deep = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        let cases: &[(&str, bool)] = &[
            (r#"{"a":1,"b":[true,null,"x",1.5]}"#, true),
            (r#"{"a":1,"a":2}"#, false),
            (r#"{"a":{"b":1,"b":1}}"#, false),
            ("{\"a\":1} trailing", false),
            ("\u{feff}{}", false),
            ("{/*c*/}", false),
            ("NaN", false),
            ("1e400", false),
            ("\"\\ud800\"", false),
            ("", false),
            ("18446744073709551615", true),
            (&deep(127), true),
            (&deep(129), false),
            (&deep(100_000), false),
            (&"[".repeat(100_000), false),
        ];
        for (text, fine) in cases {
            let parsed = parse_strictly(text);
            assert_eq!(parsed.is_ok(), *fine, "{:.60}: {parsed:?}", text);
        }
    }
}
