//! A tool's schema in the words that a vendor understands.
//!
//! Law: shaping never allows a call that the tool's own schema refuses once `unshape` has undone it.

use serde_json::{Map, Value, json};

/// The schema under OpenAI's strict rules, or nothing if those cannot express it: every object
/// closed, every property required, an optional one nullable (FL-STRICT).
pub(crate) fn strict(schema: &Value) -> Option<Value> {
    let object = schema.as_object()?;
    (schema.get("type") == Some(&json!("object"))).then_some(())?;
    strict_node(object)
}

/// Words that strict schemas know; the rest say too much and are left out, or cannot be left out.
const STRICT_WORDS: &[&str] =
    &["type", "description", "enum", "const", "properties", "required", "items", "anyOf"];
const HARMLESS_WORDS: &[&str] = &[
    "$schema",
    "title",
    "default",
    "examples",
    "format",
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "uniqueItems",
    "additionalProperties",
];

fn strict_node(node: &Map<String, Value>) -> Option<Value> {
    let known = |word: &String| {
        STRICT_WORDS.contains(&word.as_str()) || HARMLESS_WORDS.contains(&word.as_str())
    };
    if !node.keys().all(known) || node.is_empty() {
        return None;
    }
    // What is shaped below keeps its place here.
    let is_object = says_type(node, "object");
    let copy = |word: &str, value: &Value| match word {
        "items" => Value::Null,
        "anyOf" if value.is_array() => Value::Null,
        "properties" | "required" if is_object => Value::Null,
        _ => value.clone(),
    };
    let mut shaped: Map<String, Value> = node
        .iter()
        .filter(|(word, _)| STRICT_WORDS.contains(&word.as_str()))
        .map(|(word, value)| (word.clone(), copy(word, value)))
        .collect();
    if let Some(items) = node.get("items") {
        shaped.insert("items".to_owned(), strict_node(items.as_object()?)?);
    }
    if let Some(Value::Array(options)) = node.get("anyOf") {
        let options: Option<Vec<Value>> =
            options.iter().map(|option| strict_node(option.as_object()?)).collect();
        shaped.insert("anyOf".to_owned(), Value::Array(options?));
    }
    if is_object {
        close(node, &mut shaped)?;
    }
    if says_type(node, "array") && !node.contains_key("items") {
        return None;
    }
    Some(Value::Object(shaped))
}

fn says_type(node: &Map<String, Value>, name: &str) -> bool {
    match node.get("type") {
        Some(Value::String(one)) => one == name,
        Some(Value::Array(many)) => many.iter().any(|one| one == name),
        _ => false,
    }
}

/// Closes an object; one that takes any key cannot be closed.
fn close(node: &Map<String, Value>, shaped: &mut Map<String, Value>) -> Option<()> {
    let open = match node.get("additionalProperties") {
        None | Some(Value::Bool(false)) => false,
        Some(_) => true,
    };
    let none = Map::new();
    let properties = match node.get("properties") {
        Some(Value::Object(properties)) if !open => properties,
        None if !open && node.get("additionalProperties").is_some() => &none,
        _ => return None,
    };
    let required = required(node);
    let mut closed = Map::new();
    for (name, property) in properties {
        let strict = strict_node(property.as_object()?)?;
        let strict = if required.contains(&name.as_str()) { strict } else { nullable(strict) };
        closed.insert(name.clone(), strict);
    }
    let names: Vec<&String> = properties.keys().collect();
    shaped.insert("required".to_owned(), json!(names));
    shaped.insert("properties".to_owned(), Value::Object(closed));
    shaped.insert("additionalProperties".to_owned(), Value::Bool(false));
    Some(())
}

fn required(node: &Map<String, Value>) -> Vec<&str> {
    let names = node.get("required").and_then(Value::as_array);
    names.map(|names| names.iter().filter_map(Value::as_str).collect()).unwrap_or_default()
}

fn nullable(mut schema: Value) -> Value {
    if let Some(Value::Array(values)) = schema.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    match schema.get_mut("type") {
        Some(Value::String(one)) if one == "null" => schema,
        Some(Value::String(one)) => {
            let types = json!([one.clone(), "null"]);
            schema["type"] = types;
            schema
        }
        Some(Value::Array(many)) => {
            if !many.contains(&json!("null")) {
                many.push(json!("null"));
            }
            schema
        }
        _ => json!({"anyOf": [schema, {"type": "null"}]}),
    }
}

/// Undoes what strict rules did to a call: a null where the tool's own schema has an optional
/// property means that the property is absent. Nothing if there is nothing to undo.
pub(crate) fn unshape(schema: &Value, arguments: &str) -> Option<String> {
    let mut value = jm_types::json::parse_strictly(arguments).ok()?;
    drop_nulls(schema, &mut value).then(|| value.to_string())
}

fn drop_nulls(schema: &Value, value: &mut Value) -> bool {
    let mut changed = false;
    match value {
        Value::Object(object) => {
            let empty = Map::new();
            let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
            let required = schema.as_object().map(required).unwrap_or_default();
            let absent = |name: &String, value: &Value| {
                value.is_null()
                    && !required.contains(&name.as_str())
                    && properties.get(name).is_some_and(|property| !allows_null(property))
            };
            let before = object.len();
            object.retain(|name, value| !absent(name, value));
            changed |= object.len() != before;
            for (name, value) in object {
                if let Some(property) = properties.get(name) {
                    changed |= drop_nulls(property, value);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.get("items") {
                for item in items {
                    changed |= drop_nulls(schema, item);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    changed
}

fn allows_null(schema: &Value) -> bool {
    let Some(node) = schema.as_object() else { return true };
    let typed =
        node.contains_key("type") || node.contains_key("anyOf") || node.contains_key("enum");
    let listed =
        node.get("enum").and_then(Value::as_array).is_some_and(|all| all.contains(&Value::Null));
    let chosen =
        node.get("anyOf").and_then(Value::as_array).is_some_and(|all| all.iter().any(allows_null));
    !typed || says_type(node, "null") || listed || chosen
}

/// Words that Gemini's schemas know.
pub const GEMINI_SCHEMA_WORDS: &[&str] = &[
    "type",
    "format",
    "title",
    "description",
    "nullable",
    "enum",
    "items",
    "properties",
    "required",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "pattern",
    "anyOf",
];

/// The schema in Gemini's subset: no references, one type a node, texts only in enumerations, no
/// object without properties. Nothing if the subset cannot express it.
pub(crate) fn gemini(schema: &Value) -> Option<Value> {
    let node = schema.as_object()?;
    let open = says_type(node, "object")
        && node.get("properties").and_then(Value::as_object).is_none_or(Map::is_empty);
    if open || node.contains_key("$ref") {
        return None;
    }
    let mut shaped = Map::new();
    for (word, value) in node {
        gemini_word(&mut shaped, word, value)?;
    }
    texts_only(&mut shaped);
    if shaped.get("type") == Some(&json!("array")) && !shaped.contains_key("items") {
        shaped.insert("items".to_owned(), json!({"type": "string"}));
    }
    Some(Value::Object(shaped))
}

fn gemini_word(shaped: &mut Map<String, Value>, word: &str, value: &Value) -> Option<()> {
    let formats = ["date-time", "enum", "int32", "int64", "float", "double"];
    let (word, value) = match (word, value) {
        ("type", Value::Array(types)) => {
            if types.contains(&json!("null")) {
                shaped.insert("nullable".to_owned(), Value::Bool(true));
            }
            ("type", types.iter().find(|one| *one != "null").cloned()?)
        }
        ("properties", Value::Object(properties)) => {
            let properties: Option<Map<String, Value>> =
                properties.iter().map(|(name, one)| Some((name.clone(), gemini(one)?))).collect();
            ("properties", Value::Object(properties?))
        }
        ("items", items) => ("items", gemini(items)?),
        ("anyOf" | "oneOf", Value::Array(options)) => {
            let options: Option<Vec<Value>> = options.iter().map(gemini).collect();
            ("anyOf", Value::Array(options?))
        }
        ("const", value) => ("enum", json!([value])),
        ("format", Value::String(format)) if !formats.contains(&format.as_str()) => return Some(()),
        (word, value) if GEMINI_SCHEMA_WORDS.contains(&word) => (word, value.clone()),
        _ => return Some(()),
    };
    shaped.insert(word.to_owned(), value);
    Some(())
}

/// Gemini's enumerations hold texts; one of numbers is told in the description instead.
fn texts_only(node: &mut Map<String, Value>) {
    let Some(Value::Array(values)) = node.get("enum") else { return };
    if values.iter().all(Value::is_string) {
        node.entry("type").or_insert(json!("string"));
        return;
    }
    let told: Vec<String> = values.iter().map(Value::to_string).collect();
    let before = node.get("description").and_then(Value::as_str).unwrap_or_default();
    let description = format!("{before} One of: {}.", told.join(", "));
    node.remove("enum");
    node.insert("description".to_owned(), json!(description.trim()));
}

#[cfg(test)]
mod tests;
