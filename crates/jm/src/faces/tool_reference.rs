//! `jm tools --reference`: every toolset and every tool, as `docs/tools.md` has them.

use anyhow::Result;
use jm_dialects::dialect_of;
use jm_tools::ToolRegistry;
use jm_tools::toolsets::Timeouts;
use jm_types::{ToolDefinition, Toolset};
use serde_json::Value;

use super::{exit, print};
use crate::wire;

pub(crate) fn run() -> Result<u8> {
    let timeouts: Timeouts = wire::timeouts(&jm_config::Config::default());
    for toolset in Toolset::ALL {
        let dialect = dialect_of(*toolset);
        let registry = ToolRegistry::speaking(dialect, dialect.tools(&timeouts))?;
        print::line(&format!("## `{}`\n", toolset.name()))?;
        registry.definitions().iter().try_for_each(|tool| print::text(&section(tool)))?;
    }
    Ok(exit::RAN)
}

fn section(tool: &ToolDefinition) -> String {
    let mut text = format!("### `{}`\n\n{}\n\n", tool.name, tool.description);
    let required: Vec<&str> = tool.parameters["required"]
        .as_array()
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let Some(properties) = tool.parameters["properties"].as_object() else { return text };
    text.push_str("| argument | type | required | meaning |\n|---|---|---|---|\n");
    for (name, property) in properties {
        let is_required = if required.contains(&name.as_str()) { "yes" } else { "" };
        let meaning = property["description"].as_str().unwrap_or_default().replace('|', "\\|");
        text.push_str(&format!("| `{name}` | {} | {is_required} | {meaning} |\n", kind(property)));
    }
    text.push('\n');
    text
}

/// `string`, `number or null`, `array of string`
fn kind(property: &Value) -> String {
    let words = match &property["type"] {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        Value::String(kind) => vec![kind.as_str()],
        _ => Vec::new(),
    };
    match property["items"]["type"].as_str() {
        Some(items) => format!("{} of {items}", words.join(" or ")),
        None => words.join(" or "),
    }
}
