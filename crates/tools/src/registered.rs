//! A tool with its schema.
//!
//! Law: each schema is compiled at most once (NFR-PERF-03), and not at all while the fast path accepts the
//! arguments; it is checked against Draft 2020-12 (FR-VAL-01a).

use std::sync::OnceLock;

use jm_types::{ToolDefinition, ToolError};
use serde_json::Value;
use thiserror::Error;

use crate::schema::compiled::{compile, describe};
use crate::schema::fast_path;
use crate::tool::ToolExecutor;

/// A schema that is none.
#[derive(Debug, Error)]
#[error("the schema of {tool} is not valid: {message}")]
pub struct SchemaError {
    /// The tool's name.
    pub tool: String,
    /// The validator's words.
    pub message: String,
}

/// A tool with its schema, compiled when it is first needed.
pub struct Registered {
    executor: Box<dyn ToolExecutor>,
    is_fast: OnceLock<bool>,
    validator: OnceLock<Result<jsonschema::Validator, String>>,
}

impl std::fmt::Debug for Registered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Registered").field(&self.executor.name()).finish()
    }
}

impl std::ops::Deref for Registered {
    type Target = dyn ToolExecutor;

    fn deref(&self) -> &Self::Target {
        self.executor.as_ref()
    }
}

impl Registered {
    /// A tool whose schema is not compiled yet.
    pub fn new(executor: Box<dyn ToolExecutor>) -> Self {
        Self { executor, is_fast: OnceLock::new(), validator: OnceLock::new() }
    }

    /// The tool as a provider is told of it.
    pub fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: self.executor.name().to_owned(),
            description: self.executor.description().to_owned(),
            parameters: self.executor.schema().clone(),
            strict: self.executor.strict(),
        }
    }

    fn is_fast(&self) -> bool {
        *self.is_fast.get_or_init(|| fast_path::is_covered(self.executor.schema()))
    }

    /// Refuses a tool whose schema is none.
    pub fn check(&self) -> Result<(), SchemaError> {
        if self.is_fast() { Ok(()) } else { self.validator().map(drop) }
    }

    /// Tells by the fast path that arguments are right, without compiling the schema.
    fn accepts_fast(&self, args: &Value) -> bool {
        self.is_fast() && fast_path::satisfies(self.executor.schema(), args)
    }

    /// A refusal of arguments, with the names of those that the tool takes.
    pub fn refuse_arguments(&self, why: String) -> ToolError {
        let error = ToolError::bad_args(why);
        let error = match parameters(self.executor.schema()) {
            names if names.is_empty() => error,
            names => error.hint(format!("{} takes: {names}", self.executor.name())),
        };
        self.executor.in_own_words(error)
    }

    /// The validator of its schema, or the error that the schema has.
    fn validator(&self) -> Result<&jsonschema::Validator, SchemaError> {
        let compiled = self.validator.get_or_init(|| compile(self.executor.schema()));
        compiled.as_ref().map_err(|message| {
            let (tool, message) = (self.executor.name().to_owned(), message.clone());
            SchemaError { tool, message }
        })
    }

    /// Checks arguments against the tool's schema; every violation is named with its place.
    pub fn validate(&self, args: &Value) -> Result<(), ToolError> {
        if self.accepts_fast(args) {
            return Ok(());
        }
        let validator = self.validator().map_err(|error| ToolError::bad_args(error.to_string()))?;
        let violations: Vec<String> = validator.iter_errors(args).take(5).map(describe).collect();
        if violations.is_empty() {
            return Ok(());
        }
        Err(self.refuse_arguments(violations.join("; ")))
    }
}

/// `path (required), start_line, end_line`
fn parameters(schema: &Value) -> String {
    let required: Vec<&str> = schema["required"]
        .as_array()
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let Some(properties) = schema["properties"].as_object() else { return String::new() };
    let name = |name: &String| {
        let mark = if required.contains(&name.as_str()) { " (required)" } else { "" };
        format!("{name}{mark}")
    };
    properties.keys().map(name).collect::<Vec<_>>().join(", ")
}
