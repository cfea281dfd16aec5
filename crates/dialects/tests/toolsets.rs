//! Laws that hold for the tools of every toolset.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

use std::time::Duration;

use jm_dialects::dialect_of;
use jm_tools::ToolExecutor;
use jm_tools::schema::fast_path::is_covered;
use jm_tools::toolsets::{SchemaOf, Timeouts};
use jm_types::{Limits, Toolset};
use serde_json::{Map, Value, json};

const CONFIGURED: Timeouts =
    Timeouts { file_operations: Duration::from_secs(20), shell_commands: Duration::from_secs(300) };

fn tools(toolset: Toolset) -> Vec<Box<dyn ToolExecutor>> {
    dialect_of(toolset).tools(&CONFIGURED)
}

/// Every tool of every toolset, with the toolset's name.
fn all_tools() -> impl Iterator<Item = (&'static str, Box<dyn ToolExecutor>)> {
    Toolset::ALL.iter().flat_map(|one| tools(*one).into_iter().map(|tool| (one.name(), tool)))
}

#[test]
fn a_name_finds_its_toolset() {
    for toolset in Toolset::ALL {
        assert_eq!(dialect_of(*toolset).toolset, *toolset);
    }
}

/// IK-WRAP, CFG-TMO-01a: thirty seconds at the most in `ikigai`, elsewhere what is configured.
#[test]
fn a_document_that_names_a_time_has_it() {
    let seconds = Duration::from_secs;
    let times = |toolset: Toolset| -> Vec<(String, Option<Duration>)> {
        tools(toolset).iter().map(|tool| (tool.name().to_owned(), tool.timeout())).collect()
    };
    let ikigai = times(Toolset::Ikigai);
    assert!(ikigai.contains(&("bash".to_owned(), Some(seconds(30)))), "{ikigai:?}");
    assert!(ikigai.contains(&("file_read".to_owned(), Some(seconds(20)))), "{ikigai:?}");
    let forge = times(Toolset::Forge);
    assert!(forge.contains(&("run_command".to_owned(), Some(seconds(300)))), "{forge:?}");
}

/// Otherwise the fast path would be for nothing.
#[test]
fn the_fast_path_covers_the_schemas_of_all_our_tools() {
    for (_, tool) in all_tools() {
        assert!(is_covered(tool.schema()), "{}: {}", tool.name(), tool.schema());
    }
}

/// A schema that comes from a struct is reviewed as a file, and only `standard` has such files.
#[test]
fn the_schemas_of_other_agents_are_verbatim() {
    for toolset in Toolset::ALL.iter().filter(|one| **one != Toolset::Standard) {
        for row in dialect_of(*toolset).rows {
            assert!(matches!(row.schema, SchemaOf::Document(_)), "{} {}", toolset.name(), row.name);
        }
    }
}

/// NFR-MAIN-01, FR-REG-02: every property of a schema is an argument of its tool's struct, of that
/// type, and what a schema requires is all that the struct requires.
#[test]
fn schemas_and_structs_name_the_same_arguments() {
    for (toolset, tool) in all_tools() {
        let schema = tool.schema();
        let properties = schema["properties"].as_object().unwrap();
        let required = schema["required"].as_array().into_iter().flatten();
        let required = required.filter_map(Value::as_str);
        let needed: Vec<_> =
            required.map(|name| (name.to_owned(), sample(&properties[name]))).collect();
        for (name, property) in properties {
            let mut args = Map::from_iter(needed.clone());
            args.insert(name.clone(), sample(property));
            let prepared = tool.prepare(args.into(), &Limits::default());
            let said = prepared.err().map(|error| error.to_string()).unwrap_or_default();
            let unfit = ["unknown field", "missing field", "invalid type", "unknown variant"];
            let is_unfit = unfit.iter().any(|words| said.contains(words));
            assert!(!is_unfit, "{toolset} {}: {name}: {said}", tool.name());
        }
    }
}

/// A value that fits a schema.
fn sample(schema: &Value) -> Value {
    if let Some(word) = schema["enum"].as_array().and_then(|words| words.first()) {
        return word.clone();
    }
    let kind = schema["type"].as_str().or_else(|| schema["type"][0].as_str());
    match kind {
        Some("string") => json!("p1"),
        Some("boolean") => json!(true),
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or(json!(1)),
        Some("array") => json!([sample(&schema["items"])]),
        _ => {
            let properties = schema["properties"].as_object().into_iter().flatten();
            properties.map(|(name, one)| (name.clone(), sample(one))).collect()
        }
    }
}
