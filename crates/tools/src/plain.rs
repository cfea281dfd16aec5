//! Arguments that plainly satisfy a plain schema.
//!
//! Law: what is accepted here a validator of Draft 2020-12 accepts too. Whatever is not plain, in
//! the schema or in the arguments, is left to that validator, which also says what is wrong. It
//! takes milliseconds to make one, and most calls of most processes never need it.

use serde_json::{Map, Value};

/// Deeper schemas are left to the validator.
const DEEPEST: usize = 16;

const TYPES: &[&str] = &["object", "array", "string", "boolean", "null", "integer", "number"];

/// A valid schema, all the way down, of keywords that are understood here.
pub(crate) fn is_plain(schema: &Value) -> bool {
    is_plain_within(schema, DEEPEST)
}

fn is_plain_within(schema: &Value, depth: usize) -> bool {
    let (Some(rules), Some(depth)) = (schema.as_object(), depth.checked_sub(1)) else {
        return false;
    };
    rules.iter().all(|(keyword, rule)| match keyword.as_str() {
        "type" => names_types(rule),
        "description" | "title" => rule.is_string(),
        "default" => true,
        // Texts only: when two numbers are equal is a question for the validator.
        "enum" | "required" => rule.as_array().is_some_and(|names| are_distinct_texts(names)),
        "minimum" | "maximum" => rule.is_i64(),
        "minLength" | "minItems" => rule.is_u64(),
        "items" => is_plain_within(rule, depth),
        "properties" => {
            let known = rule.as_object();
            known.is_some_and(|known| known.values().all(|rule| is_plain_within(rule, depth)))
        }
        "additionalProperties" => *rule == Value::Bool(false) || is_plain_within(rule, depth),
        _ => false,
    })
}

fn names_types(rule: &Value) -> bool {
    let is_type = |name: &Value| name.as_str().is_some_and(|name| TYPES.contains(&name));
    match rule.as_array() {
        Some(names) => !names.is_empty() && are_distinct_texts(names) && names.iter().all(is_type),
        None => is_type(rule),
    }
}

fn are_distinct_texts(names: &[Value]) -> bool {
    let is_repeated = |at: usize| names[..at].contains(&names[at]);
    names.iter().all(Value::is_string) && !(0..names.len()).any(is_repeated)
}

/// Of a plain schema. `true`: the arguments satisfy it. `false`: ask the validator.
pub(crate) fn satisfies(schema: &Value, value: &Value) -> bool {
    let Some(rules) = schema.as_object() else { return false };
    rules.iter().all(|(keyword, rule)| match keyword.as_str() {
        "type" => match rule.as_array() {
            Some(names) => names.iter().any(|name| is_of_type(name, value)),
            None => is_of_type(rule, value),
        },
        "enum" => rule.as_array().is_some_and(|allowed| allowed.contains(value)),
        "minimum" => bound(rule, value).is_some_and(|(rule, value)| value >= rule),
        "maximum" => bound(rule, value).is_some_and(|(rule, value)| value <= rule),
        "minLength" => is_long_enough(rule, value.as_str().map(|text| text.chars().count())),
        "minItems" => is_long_enough(rule, value.as_array().map(Vec::len)),
        "items" => {
            value.as_array().is_some_and(|items| items.iter().all(|item| satisfies(rule, item)))
        }
        "required" => has_all(rule, value),
        "properties" => each_property(rule, value),
        "additionalProperties" => each_other(rules, rule, value),
        _ => true,
    })
}

fn is_of_type(name: &Value, value: &Value) -> bool {
    match name.as_str().unwrap_or_default() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        _ => false,
    }
}

/// Whole numbers that both fit: no rounding, no surprise.
fn bound(rule: &Value, value: &Value) -> Option<(i64, i64)> {
    Some((rule.as_i64()?, value.as_i64()?))
}

fn is_long_enough(rule: &Value, length: Option<usize>) -> bool {
    match (rule.as_u64(), length) {
        (Some(least), Some(length)) => length as u64 >= least,
        _ => false,
    }
}

fn has_all(rule: &Value, value: &Value) -> bool {
    let (Some(names), Some(object)) = (rule.as_array(), value.as_object()) else { return false };
    names.iter().all(|name| name.as_str().is_some_and(|name| object.contains_key(name)))
}

fn each_property(rule: &Value, value: &Value) -> bool {
    let (Some(known), Some(object)) = (rule.as_object(), value.as_object()) else { return false };
    object.iter().all(|(name, value)| known.get(name).is_none_or(|rule| satisfies(rule, value)))
}

/// Those that `properties` does not name. `false` is no object, and satisfied by nothing.
fn each_other(rules: &Map<String, Value>, rule: &Value, value: &Value) -> bool {
    let known = rules.get("properties").and_then(Value::as_object);
    let is_known = |name: &str| known.is_some_and(|known| known.contains_key(name));
    let Some(object) = value.as_object() else { return false };
    object.iter().all(|(name, value)| is_known(name) || satisfies(rule, value))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::registry::compile;
    use crate::toolsets::{Dialects, Timeouts, Toolset};

    /// Values around the edges of the rules, and of every type.
    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-2_i64..4).prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            Just(json!(1.0)),
            "[ab\u{e9}]{0,3}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 16, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::vec(("[abc]", inner), 0..3)
                    .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
            ]
        })
    }

    /// Schemas of the keywords, well-formed and not.
    fn schemas() -> impl Strategy<Value = Value> {
        let types = prop::sample::select(TYPES).prop_map(Value::from);
        let rule = prop_oneof![
            6 => types.clone().prop_map(|name| ("type", name)),
            1 => values().prop_map(|odd| ("type", odd)),
            2 => prop::collection::vec(types, 0..3).prop_map(|names| ("type", json!(names))),
            2 => prop::collection::vec("[ab]", 0..3).prop_map(|names| ("enum", json!(names))),
            2 => prop::collection::vec("[ab]", 0..3).prop_map(|names| ("required", json!(names))),
            1 => values().prop_map(|odd| ("enum", json!([odd]))),
            2 => (-1_i64..3).prop_map(|number| ("minimum", json!(number))),
            2 => (-1_i64..3).prop_map(|number| ("maximum", json!(number))),
            1 => (-1_i64..3).prop_map(|number| ("minLength", json!(number))),
            1 => (-1_i64..3).prop_map(|number| ("minItems", json!(number))),
            1 => any::<bool>().prop_map(|yes| ("additionalProperties", json!(yes))),
            1 => Just(("uniqueItems", json!(true))),
        ];
        let leaf = prop::collection::vec(rule.clone(), 0..3);
        let schema = |rules: Vec<(&str, Value)>| {
            Value::Object(rules.into_iter().map(|(key, rule)| (key.to_owned(), rule)).collect())
        };
        leaf.prop_map(schema).prop_recursive(2, 8, 3, move |inner| {
            let properties = prop::collection::vec(("[abc]", inner.clone()), 0..3)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect()));
            let rules = prop::collection::vec(rule.clone(), 0..2);
            (rules, properties, inner.clone(), inner).prop_map(
                move |(mut rules, properties, items, others)| {
                    rules.extend([("properties", properties), ("items", items)]);
                    rules.push(("additionalProperties", others));
                    schema(rules)
                },
            )
        })
    }

    proptest! {
        #[test]
        fn what_is_accepted_the_validator_accepts(schema in schemas(), value in values()) {
            if is_plain(&schema) && satisfies(&schema, &value) {
                let validator = compile(&schema);
                prop_assert!(validator.is_ok(), "{:?}", validator.err());
                prop_assert!(validator.unwrap().is_valid(&value));
            }
        }
    }

    /// Otherwise all this would be for nothing.
    #[test]
    fn the_schemas_of_all_our_tools_are_plain() {
        let long = Duration::from_secs(60);
        let timeouts = Timeouts { file_operations: long, shell_commands: long };
        for toolset in Toolset::ALL {
            for tool in toolset.tools(&timeouts).unwrap() {
                assert!(is_plain(tool.schema()), "{}: {}", tool.name(), tool.schema());
            }
        }
    }

    #[test]
    fn what_is_not_plain_is_left_to_the_validator() {
        let schemas = [
            json!(true),
            json!({"$ref": "#/a"}),
            json!({"properties": {"a": {"type": "text"}}}),
            json!({"type": ["string", "text"]}),
            json!({"type": []}),
            json!({"minimum": 0.5}),
            json!({"enum": [1]}),
            json!({"required": ["a", "a"]}),
            json!({"items": {"pattern": "a"}}),
        ];
        for schema in schemas {
            assert!(!is_plain(&schema), "{schema}");
        }
        for value in [json!({}), json!({"a": 1.0}), json!({"a": 0}), json!({"a": 1, "b": 1})] {
            let schema = json!({
                "type": "object",
                "properties": {"a": {"type": "integer", "minimum": 1}},
                "required": ["a"],
                "additionalProperties": false,
            });
            assert!(is_plain(&schema) && !satisfies(&schema, &value), "{value}");
        }
    }
}
