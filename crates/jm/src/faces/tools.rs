//! `jm tools`: which tools there are, from where, and what is wrong with the rest.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use jm_engine::engine::advertised;
use jm_tools::{Listed, Origin};
use jm_types::text::{one_line, sanitize, suggest};
use jm_types::{ToolDefinition, ToolError};
use serde::Serialize;

use super::{exit, print};
use crate::cli::{Common, ToolsArgs};
use crate::mcp::{self, Elicitor, Probing};
use crate::{external, wire};

/// How long a list waits for servers.
const PATIENCE: (Duration, Probing) = (Duration::from_secs(30), Probing::Remembered);

/// A tool as programs read it.
#[derive(Debug, Serialize)]
struct Shown {
    #[serde(flatten)]
    definition: ToolDefinition,
    /// Only for tools that are not built in: whose directory, and which file.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
}

pub(crate) fn run(common: &Common, tools: &ToolsArgs) -> Result<u8> {
    if tools.reference {
        return super::tool_reference::run();
    }
    let wire::Settings { loaded, project } = wire::settings(common)?;
    let config = &loaded.config;
    let mut registry = wire::registry(config)?;
    // A list records nothing, so it needs no place for records.
    let unrecorded = Common { no_journal: true, ..common.clone() };
    let workspace = wire::workspace(&unrecorded, config)?;
    registry.add_source(Box::new(external::source(config, &workspace, project.as_ref())));
    for source in wire::scripts(common, &loaded, &workspace, project.as_ref())? {
        registry.add_source(Box::new(source));
    }
    let elicitor = Arc::new(Elicitor::default());
    let servers = mcp::source(config, &workspace, project.as_ref(), &elicitor, PATIENCE)?;
    servers.into_iter().for_each(|source| registry.add_source(Box::new(source)));
    if tools.rescan {
        registry.forget()?;
    }
    let listing = registry.listing();
    let offered = advertised(config.tools.mode, &registry, &wire::manual(config)?);
    let all: Vec<Shown> = offered.into_iter().map(|tool| shown(tool, &listing)).collect();
    match &tools.name {
        None => {
            listing.iter().filter_map(complaint).for_each(|text| print::note(&text));
            if tools.json {
                print::json(&all)?
            } else {
                all.iter().try_for_each(|tool| print::line(&in_brief(tool)))?
            }
        }
        Some(name) => {
            let tool = find(name, &all, &listing)?;
            if tools.json { print::json(tool)? } else { print::line(&in_full(tool)?)? }
        }
    }
    Ok(exit::RAN)
}

fn shown(definition: ToolDefinition, listing: &[Listed]) -> Shown {
    let listed = listing.iter().find(|tool| tool.name == definition.name && tool.tool.is_ok());
    let (source, path) = match listed.map(|listed| &listed.origin) {
        None | Some(Origin::BuiltIn) => (None, None),
        Some(Origin::File { place, path }) => (Some(*place), Some(path.display().to_string())),
        Some(Origin::Server(name)) => (Some("server"), Some(name.clone())),
    };
    Shown { definition, source, path }
}

fn find<'a>(name: &str, all: &'a [Shown], listing: &[Listed]) -> Result<&'a Shown> {
    if let Some(tool) = all.iter().find(|tool| tool.definition.name == name) {
        return Ok(tool);
    }
    let mut faults = listing.iter().filter(|listed| listed.name == name);
    if let Some(Err(error)) = faults.next().map(|listed| &listed.tool) {
        anyhow::bail!("{}", told(error));
    }
    let near = suggest(name, all.iter().map(|tool| tool.definition.name.as_str()), 1);
    let hint = near.first().map(|near| format!("\n  hint: did you mean `{near}`?"));
    anyhow::bail!("unknown tool: {}{}", one_line(name), hint.unwrap_or_default())
}

fn complaint(listed: &Listed) -> Option<String> {
    let error = listed.tool.as_ref().err()?;
    Some(format!("jm: warning: {}", told(error)))
}

fn told(error: &ToolError) -> String {
    let hints = error.hints.iter().map(|hint| format!("\n  hint: {}", one_line(hint)));
    format!("{}{}", one_line(&error.to_string()), hints.collect::<String>())
}

/// Makes a text that others wrote harmless.
fn in_brief(tool: &Shown) -> String {
    let definition = &tool.definition;
    let sentence = definition.description.split(". ").next().unwrap_or_default();
    let source = tool.source.map(|source| format!(" ({source})")).unwrap_or_default();
    let sentence = one_line(sentence.trim_end_matches('.'));
    format!("{:<16} {sentence}{source}", definition.name)
}

fn in_full(tool: &Shown) -> Result<String> {
    let definition = &tool.definition;
    let schema = serde_json::to_string_pretty(&definition.parameters)?;
    let from = match (&tool.source, &tool.path) {
        (Some(source), Some(path)) => format!("\n{source}: {path}"),
        _ => String::new(),
    };
    let text = format!("{}{from}\n\n{}\n\n{schema}", definition.name, definition.description);
    Ok(sanitize(&text))
}
