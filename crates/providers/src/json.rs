//! A piece of a request: what we make, or a vendor's own text that goes back as it came.

use jm_types::Native;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// JSON on its way out.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub(crate) enum Json {
    Made(Value),
    /// Not parsed and written again, which could change how numbers and letters are spelt.
    Verbatim(Box<RawValue>),
    Object(Fields),
    List(Vec<Json>),
}

/// An object with keys in the order given.
#[derive(Debug, Clone)]
pub(crate) struct Fields(Vec<(String, Json)>);

impl Serialize for Fields {
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

impl From<Value> for Json {
    fn from(value: Value) -> Self {
        Json::Made(value)
    }
}

impl Json {
    pub(crate) fn object(fields: Vec<(String, Json)>) -> Json {
        Json::Object(Fields(fields))
    }

    /// The vendor's item; nothing if it is not JSON after all.
    pub(crate) fn native(native: &Native) -> Option<Json> {
        RawValue::from_string(native.raw.clone()).ok().map(Json::Verbatim)
    }

    /// A call's arguments where a vendor wants an object. What is none is wrapped, so that the
    /// model sees what it sent.
    pub(crate) fn arguments(text: &str) -> Json {
        match serde_json::from_str::<&RawValue>(text) {
            Ok(raw) if raw.get().starts_with('{') => Json::Verbatim(raw.to_owned()),
            Ok(_) | Err(_) => Json::Made(serde_json::json!({"invalid_arguments": text})),
        }
    }
}

/// The string under a key.
pub(crate) fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str)
}

/// The whole number under a key; zero where there is none.
pub(crate) fn count(value: &Value, key: &str) -> u64 {
    value.get(key).and_then(Value::as_u64).unwrap_or(0)
}

/// The place number under a key.
pub(crate) fn index(value: &Value, key: &str) -> Option<usize> {
    value.get(key).and_then(Value::as_u64).and_then(|number| usize::try_from(number).ok())
}
