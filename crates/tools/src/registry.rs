//! The tools of a session, by name.
//!
//! Law: each schema is compiled at most once (NFR-PERF-03) and checked against Draft 2020-12
//! (FR-VAL-01a); a schema that refers to another document is an error, never a fetch.

use std::collections::HashMap;
use std::sync::OnceLock;

use jm_types::text::suggest::suggest;
use jm_types::{ErrorKind, ToolDefinition, ToolError};
use serde_json::Value;
use thiserror::Error;

use crate::tool::ToolExecutor;
use crate::toolsets::Toolset;

#[derive(Debug, Error)]
#[error("the schema of {tool} is not valid: {message}")]
pub struct SchemaError {
    pub tool: String,
    pub message: String,
}

struct Registered {
    executor: Box<dyn ToolExecutor>,
    validator: OnceLock<Result<jsonschema::Validator, String>>,
}

#[derive(Default)]
pub struct ToolRegistry {
    toolset: Toolset,
    tools: HashMap<String, Registered>,
}

impl std::fmt::Debug for ToolRegistry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.tools.keys()).finish()
    }
}

impl ToolRegistry {
    /// Tools that answer in the default toolset's envelope.
    pub fn new(tools: impl IntoIterator<Item = Box<dyn ToolExecutor>>) -> Result<Self, ToolError> {
        Self::speaking(Toolset::default(), tools)
    }

    /// Tools that answer in this toolset's envelope, whoever brought them.
    pub fn speaking(
        toolset: Toolset,
        tools: impl IntoIterator<Item = Box<dyn ToolExecutor>>,
    ) -> Result<Self, ToolError> {
        let mut registry = Self { toolset, tools: HashMap::new() };
        tools.into_iter().try_for_each(|tool| registry.register(tool))?;
        Ok(registry)
    }

    pub fn register(&mut self, executor: Box<dyn ToolExecutor>) -> Result<(), ToolError> {
        let name = executor.name().to_owned();
        if self.tools.contains_key(&name) {
            return Err(ToolError::new(ErrorKind::DuplicateTool { name }));
        }
        self.tools.insert(name, Registered { executor, validator: OnceLock::new() });
        Ok(())
    }

    pub fn toolset(&self) -> Toolset {
        self.toolset
    }

    pub fn lookup(&self, name: &str) -> Result<&dyn ToolExecutor, ToolError> {
        self.find(name).map(|tool| tool.executor.as_ref())
    }

    /// Sorted by name (NFR-MAIN-03).
    pub fn definitions(&self) -> Vec<ToolDefinition> {
        let mut definitions: Vec<_> = self
            .tools
            .values()
            .map(|tool| ToolDefinition {
                name: tool.executor.name().to_owned(),
                description: tool.executor.description().to_owned(),
                parameters: tool.executor.schema().clone(),
            })
            .collect();
        definitions.sort_by(|a, b| a.name.cmp(&b.name));
        definitions
    }

    /// Checks arguments against the tool's schema; every violation is named with its place.
    pub fn validate(&self, name: &str, args: &Value) -> Result<(), ToolError> {
        let tool = self.find(name)?;
        let compiled = tool.validator.get_or_init(|| compile(tool.executor.schema()));
        let validator = compiled.as_ref().map_err(|message| {
            let (tool, message) = (name.to_owned(), message.clone());
            ToolError::bad_args(SchemaError { tool, message }.to_string())
        })?;
        let violations: Vec<String> = validator.iter_errors(args).take(5).map(describe).collect();
        if violations.is_empty() {
            return Ok(());
        }
        let error = ToolError::bad_args(violations.join("; "));
        Err(match parameters(tool.executor.schema()) {
            names if names.is_empty() => error,
            names => error.hint(format!("{name} takes: {names}")),
        })
    }

    fn find(&self, name: &str) -> Result<&Registered, ToolError> {
        self.tools.get(name).ok_or_else(|| self.unknown(name))
    }

    fn unknown(&self, name: &str) -> ToolError {
        let mut names: Vec<&str> = self.tools.keys().map(String::as_str).collect();
        names.sort_unstable();
        let error = ToolError::new(ErrorKind::UnknownTool { name: name.to_owned() });
        match suggest(name, names.iter().copied(), 1).first() {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error.hint(format!("available tools: {}", names.join(", "))),
        }
    }
}

pub(crate) fn compile(schema: &Value) -> Result<jsonschema::Validator, String> {
    jsonschema::options()
        .with_draft(jsonschema::Draft::Draft202012)
        .build(schema)
        .map_err(|error| error.to_string())
}

pub(crate) fn describe(error: jsonschema::ValidationError<'_>) -> String {
    // The offending value can be as large as the arguments; the place and the rule are enough.
    let message: String = error.to_string().chars().take(200).collect();
    match error.instance_path().to_string() {
        place if place.is_empty() => message,
        place => format!("{place}: {message}"),
    }
}

/// `path (required), start_line, end_line`
fn parameters(schema: &Value) -> String {
    let required: Vec<&str> = schema["required"]
        .as_array()
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let Some(properties) = schema["properties"].as_object() else { return String::new() };
    let name = |name: &String| match required.contains(&name.as_str()) {
        true => format!("{name} (required)"),
        false => name.clone(),
    };
    properties.keys().map(name).collect::<Vec<_>>().join(", ")
}
