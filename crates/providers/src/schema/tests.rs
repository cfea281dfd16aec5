//! Schemas before and after shaping.

use super::*;

/// FL-STRICT: all properties required, no additional ones, optional as nullable.
#[test]
fn strict_shaping() {
    let cases = [
        (
            "optional becomes nullable",
            json!({"type": "object", "properties": {
                "query": {"type": "string", "description": "what"},
                "limit": {"type": "integer", "minimum": 1, "default": 5},
            }, "required": ["query"]}),
            Some(json!({"type": "object", "properties": {
                "query": {"type": "string", "description": "what"},
                "limit": {"type": ["integer", "null"]},
            }, "required": ["query", "limit"], "additionalProperties": false})),
        ),
        (
            "nested objects and lists",
            json!({"type": "object", "required": ["edits"], "properties": {
                "edits": {"type": "array", "items": {"type": "object", "properties": {
                    "kind": {"type": "string", "enum": ["a", "b"]},
                }}},
            }}),
            Some(json!({"type": "object", "required": ["edits"], "properties": {
                "edits": {"type": "array", "items": {"type": "object", "properties": {
                    "kind": {"type": ["string", "null"], "enum": ["a", "b", null]},
                }, "required": ["kind"], "additionalProperties": false}},
            }, "additionalProperties": false})),
        ),
        (
            "already strict stays as it is",
            json!({"type": "object", "properties": {"q": {"type": ["number", "null"]}},
                   "required": ["q"], "additionalProperties": false}),
            Some(json!({"type": "object", "properties": {"q": {"type": ["number", "null"]}},
                   "required": ["q"], "additionalProperties": false})),
        ),
        (
            "an object with any keys cannot be strict",
            json!({"type": "object", "properties": {"env": {"type": "object",
                   "additionalProperties": {"type": "string"}}}}),
            None,
        ),
        ("a choice at the root cannot be strict", json!({"oneOf": [{"type": "object"}]}), None),
        (
            "a word that constrains more than we can say",
            json!({"type": "object", "properties": {"a": {"$ref": "#/x"}}}),
            None,
        ),
        (
            "an untyped list",
            json!({"type": "object", "properties": {"a": {"type": "array"}}}),
            None,
        ),
    ];
    for (name, schema, expected) in cases {
        assert_eq!(strict(&schema), expected, "{name}");
    }
}

#[test]
fn unshaping_takes_back_the_nulls_that_strict_rules_forced() {
    let schema = json!({"type": "object", "required": ["a"], "properties": {
        "a": {"type": "string"},
        "b": {"type": "integer"},
        "c": {"type": ["integer", "null"]},
        "d": {"type": "array", "items": {"type": "object", "properties": {"e": {"type": "string"}}}},
    }});
    let cases = [
        (r#"{"a":"x","b":null}"#, Some(r#"{"a":"x"}"#)),
        (r#"{"a":"x","b":1}"#, None),
        (r#"{"a":"x","c":null}"#, None),
        (r#"{"a":null,"b":null}"#, Some(r#"{"a":null}"#)),
        (r#"{"a":"x","d":[{"e":null},{"e":"y"}]}"#, Some(r#"{"a":"x","d":[{},{"e":"y"}]}"#)),
        (r#"{"a":"x","z":null}"#, None),
        (r#"{"a":"x","a":"y","b":null}"#, None),
        ("not json", None),
    ];
    for (arguments, expected) in cases {
        assert_eq!(unshape(&schema, arguments).as_deref(), expected, "{arguments}");
    }
}

#[test]
fn geminis_subset() {
    let cases = [(
        json!({"$schema": "x", "type": "object", "additionalProperties": false, "properties": {
                "n": {"type": ["integer", "null"], "format": "uint32"},
                "l": {"type": "array"},
                "e": {"type": "integer", "enum": [1, 2], "description": "how"},
                "c": {"const": "x"},
                "o": {"oneOf": [{"type": "string"}, {"type": "integer"}]},
            }, "required": ["n"]}),
        json!({"type": "object", "properties": {
                "n": {"type": "integer", "nullable": true},
                "l": {"type": "array", "items": {"type": "string"}},
                "e": {"type": "integer", "description": "how One of: 1, 2."},
                "c": {"enum": ["x"], "type": "string"},
                "o": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            }, "required": ["n"]}),
    )];
    for (schema, expected) in cases {
        assert_eq!(gemini(&schema), Some(expected));
    }
    let inexpressible = [
        json!({"type": "object", "properties": {}}),
        json!({"type": "object", "properties": {"env": {"type": "object"}}}),
        json!({"type": "object", "properties": {"a": {"$ref": "#/b"}}}),
        json!(true),
    ];
    for schema in inexpressible {
        assert_eq!(gemini(&schema), None, "{schema}");
    }
}
