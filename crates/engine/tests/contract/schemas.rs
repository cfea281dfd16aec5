//! Schemas and parsers: what a schema admits is parsed, and what it does not name is refused.

use jm_dialects::dialect_of;
use jm_tools::{ToolExecutor, ToolRegistry};
use jm_types::{Limits, Toolset};
use serde_json::{Value, json};

use crate::tools_of;

/// A value that a schema's property accepts, and what parses it means.
fn sample(name: &str, property: &Value) -> Value {
    let kind = match &property["type"] {
        Value::Array(kinds) => kinds[0].clone(),
        kind => kind.clone(),
    };
    if let Some(first) = property["enum"].as_array().and_then(|values| values.first()) {
        return first.clone();
    }
    match (name, kind.as_str().unwrap()) {
        ("patch", _) => json!("LP1\nEND\n"),
        ("expression", _) => json!("1 + 1"),
        ("status", _) => json!("open"),
        // Of its two forms an edit has one.
        ("edits", _) if property["items"]["properties"].get("old_string").is_some() => {
            json!([{"path": "x", "old_string": "x", "new_string": "y"}])
        }
        (_, "string") => json!(format!("{name} x")),
        (_, "integer" | "number") => json!(property["minimum"].as_u64().unwrap_or(0).max(1)),
        (_, "boolean") => json!(true),
        (_, "array") => json!([sample("item", &property["items"])]),
        (_, "object") => match property.get("properties") {
            Some(_) => Value::Object(all_arguments(property)),
            None => json!({"A": "x"}),
        },
        (name, other) => panic!("{name}: {other}"),
    }
}

fn all_arguments(schema: &Value) -> serde_json::Map<String, Value> {
    let properties = schema["properties"].as_object().unwrap();
    properties.iter().map(|(name, kind)| (name.clone(), sample(name, kind))).collect()
}

fn is_valid(registry: &ToolRegistry, tool: &dyn ToolExecutor, args: &Value) -> bool {
    registry.lookup(tool.name()).unwrap().validate(args).is_ok()
}

/// The way of every call: the schema, then the parser.
fn is_accepted(registry: &ToolRegistry, tool: &dyn ToolExecutor, args: Value) -> bool {
    is_valid(registry, tool, &args) && tool.prepare(args, &Limits::default()).is_ok()
}

/// NFR-MAIN-01, NFR-MAIN-02, FL-STRICT: of every tool of every toolset, the schema and what parses
/// it know the same arguments and need the same ones. Only Forj ignores what it does not know.
#[test]
fn schemas_and_parsers_agree() {
    for toolset in Toolset::ALL {
        let registry = ToolRegistry::speaking(dialect_of(*toolset), tools_of(*toolset)).unwrap();
        for tool in tools_of(*toolset) {
            let told = format!("{} {}", toolset.name(), tool.name());
            let mut all = all_arguments(tool.schema());
            // Some arguments do not go together.
            match tool.name() {
                "run_tests" => drop(all.remove("command")),
                "start_process" => {
                    all.retain(|name, _| !["argv", "pty", "rows", "columns"].contains(&&**name));
                }
                "process" => {
                    all.retain(|name, _| name == "action");
                    all.insert("action".to_owned(), json!("list"));
                }
                _ => {}
            }
            assert!(is_accepted(&registry, &*tool, Value::Object(all.clone())), "{told}: {all:?}");
            let mut more = all.clone();
            more.insert("stranger".to_owned(), json!(1));
            let ignores = matches!(toolset, Toolset::Forj | Toolset::Ikigai);
            assert_eq!(is_accepted(&registry, &*tool, Value::Object(more)), ignores, "{told}");
            let required = tool.schema()["required"].as_array().unwrap().iter();
            let required: Vec<&str> = required.map(|name| name.as_str().unwrap()).collect();
            // What only one action needs, or one of two must be given, the schema does not require.
            let is_needed =
                |name: &str| required.contains(&name) || ["title", "command"].contains(&name);
            let optional = |name: &&String| !is_needed(name);
            for name in all.keys().filter(optional) {
                let mut less = all.clone();
                less.remove(name);
                assert!(is_accepted(&registry, &*tool, Value::Object(less)), "{told}: no {name}");
            }
            for name in required {
                let mut less = all.clone();
                less.remove(name);
                let less = Value::Object(less);
                assert!(!is_valid(&registry, &*tool, &less), "{told}: no {name}");
                // A strict schema asks for all, and `null` where there is nothing.
                let is_nullable = tool.schema()["properties"][name]["type"].is_array();
                let is_missed = tool.prepare(less, &Limits::default()).is_err();
                assert!(is_missed || is_nullable, "{told}: no {name}");
            }
        }
    }
}
