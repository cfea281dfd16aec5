//! The tools of a session, by name.
//!
//! Law: each schema is compiled at most once (NFR-PERF-03), and not at all while a plain look at the
//! arguments is enough; it is checked against Draft 2020-12 (FR-VAL-01a); a schema that refers to
//! another document is an error, never a fetch.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use jm_types::text::suggest::suggest;
use jm_types::{ErrorKind, ToolDefinition, ToolError};
use jsonschema::error::ValidationErrorKind;
use serde_json::Value;
use thiserror::Error;

use crate::plain;
use crate::source::{Listed, Origin, ToolSource};
use crate::tool::ToolExecutor;
use crate::toolsets::Toolset;

#[derive(Debug, Error)]
#[error("the schema of {tool} is not valid: {message}")]
pub struct SchemaError {
    pub tool: String,
    pub message: String,
}

/// A tool with its schema, compiled when it is first needed.
pub struct Registered {
    executor: Box<dyn ToolExecutor>,
    is_plain: OnceLock<bool>,
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
    pub fn new(executor: Box<dyn ToolExecutor>) -> Self {
        Self { executor, is_plain: OnceLock::new(), validator: OnceLock::new() }
    }

    fn is_plain(&self) -> bool {
        *self.is_plain.get_or_init(|| plain::is_plain(self.executor.schema()))
    }

    /// Whether its schema is one.
    pub fn check(&self) -> Result<(), SchemaError> {
        if self.is_plain() { Ok(()) } else { self.validator().map(drop) }
    }

    /// Nothing needs to be compiled to see that these arguments are right.
    fn plainly_accepts(&self, args: &Value) -> bool {
        self.is_plain() && plain::satisfies(self.executor.schema(), args)
    }

    /// What is wrong with arguments, and what they could be.
    pub fn refuse_arguments(&self, why: String) -> ToolError {
        let error = ToolError::bad_args(why);
        let error = match parameters(self.executor.schema()) {
            names if names.is_empty() => error,
            names => error.hint(format!("{} takes: {names}", self.executor.name())),
        };
        self.executor.in_own_words(error)
    }

    /// The validator of its schema, or why there is none.
    fn validator(&self) -> Result<&jsonschema::Validator, SchemaError> {
        let compiled = self.validator.get_or_init(|| compile(self.executor.schema()));
        compiled.as_ref().map_err(|message| {
            let (tool, message) = (self.executor.name().to_owned(), message.clone());
            SchemaError { tool, message }
        })
    }
}

#[derive(Default)]
pub struct ToolRegistry {
    toolset: Toolset,
    tools: HashMap<String, Arc<Registered>>,
    sources: Vec<Box<dyn ToolSource>>,
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
        let mut registry = Self { toolset, ..Self::default() };
        tools.into_iter().try_for_each(|tool| registry.register(tool))?;
        Ok(registry)
    }

    pub fn register(&mut self, executor: Box<dyn ToolExecutor>) -> Result<(), ToolError> {
        let name = executor.name().to_owned();
        if self.tools.contains_key(&name) {
            return Err(ToolError::new(ErrorKind::DuplicateTool { name }));
        }
        self.tools.insert(name, Arc::new(Registered::new(executor)));
        Ok(())
    }

    pub fn toolset(&self) -> Toolset {
        self.toolset
    }

    /// Tools that come on top of those registered, whose names win.
    pub fn add_source(&mut self, source: Box<dyn ToolSource>) {
        self.sources.push(source);
    }

    /// A tool that comes from a source may have to be waited for, the first time.
    pub fn lookup(&self, name: &str) -> Result<Arc<Registered>, ToolError> {
        if let Some(tool) = self.tools.get(name) {
            return Ok(Arc::clone(tool));
        }
        let found = self.sources.iter().find_map(|source| source.find(name));
        found.unwrap_or_else(|| Err(self.unknown(name)))
    }

    /// A refusal as the tool of that name would say it. It is not asked anything.
    pub fn in_own_words(&self, name: &str, refusal: ToolError) -> ToolError {
        match self.tools.contains_key(name) {
            true => refusal,
            false => {
                self.sources.iter().fold(refusal, |error, source| source.in_own_words(name, error))
            }
        }
    }

    /// Whether there is a tool of that name. It is not asked anything.
    pub fn knows(&self, name: &str) -> Result<(), ToolError> {
        let is_known = self.tools.contains_key(name) || self.names().iter().any(|one| one == name);
        is_known.then_some(()).ok_or_else(|| self.unknown(name))
    }

    /// What is ready, sorted by name (NFR-MAIN-03). Waits for the sources as they see fit.
    pub fn definitions(&self) -> Vec<ToolDefinition> {
        self.listing().iter().filter_map(Listed::definition).collect()
    }

    /// Every tool with its origin, also those that cannot be used, sorted by name.
    pub fn listing(&self) -> Vec<Listed> {
        let built_in = self.tools.iter().map(|(name, tool)| Listed {
            name: name.clone(),
            origin: Origin::BuiltIn,
            tool: Ok(Arc::clone(tool)),
        });
        let foreign = self.sources.iter().flat_map(|source| source.listing());
        let mut all: Vec<_> = built_in.chain(foreign).collect();
        // Stable, so of two with one name the one that `lookup` would give comes first.
        all.sort_by(|one, other| one.name.cmp(&other.name));
        for at in 1..all.len() {
            let (before, this) = (&all[at - 1], &all[at]);
            if before.name == this.name && this.tool.is_ok() {
                all[at].tool = Err(this.hidden_by(&before.origin));
            }
        }
        all
    }

    /// Every tool that others brought is asked again what it is, when it is next needed.
    pub fn forget(&self) -> Result<(), ToolError> {
        self.sources.iter().try_for_each(|source| source.forget())
    }

    /// The names that are known without waiting, sorted.
    pub fn names(&self) -> Vec<String> {
        self.with_own(self.sources.iter().flat_map(|source| source.names()))
    }

    /// These names and those of the tools that are built in, sorted.
    fn with_own(&self, foreign: impl Iterator<Item = String>) -> Vec<String> {
        let mut names: Vec<String> = self.tools.keys().cloned().chain(foreign).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Checks arguments against the tool's schema; every violation is named with its place.
    pub fn validate(&self, name: &str, args: &Value) -> Result<(), ToolError> {
        let tool = self.lookup(name)?;
        if tool.plainly_accepts(args) {
            return Ok(());
        }
        let validator = tool.validator().map_err(|error| ToolError::bad_args(error.to_string()))?;
        let violations: Vec<String> = validator.iter_errors(args).take(5).map(describe).collect();
        if violations.is_empty() {
            return Ok(());
        }
        Err(tool.refuse_arguments(violations.join("; ")))
    }

    fn unknown(&self, name: &str) -> ToolError {
        let names = self.names();
        let error = ToolError::new(ErrorKind::UnknownTool { name: name.to_owned() });
        match suggest(name, names.iter().map(String::as_str), 1).first() {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => {
                let ready = self.sources.iter().flat_map(|source| source.ready_names());
                let unasked: Vec<String> =
                    self.sources.iter().flat_map(|source| source.unasked_names()).collect();
                let error =
                    error.hint(format!("available tools: {}", self.with_own(ready).join(", ")));
                match unasked.is_empty() {
                    true => error,
                    false => error.hint(format!("not checked yet: {}", unasked.join(", "))),
                }
            }
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
    let message: String = match error.kind() {
        ValidationErrorKind::Enum { options } => not_one_of(error.instance(), options),
        _ => error.to_string().chars().take(200).collect(),
    };
    match error.instance_path().to_string() {
        place if place.is_empty() => message,
        place => format!("{place}: {message}"),
    }
}

/// All that are possible, so that the next call can be right.
fn not_one_of(value: &Value, options: &Value) -> String {
    let value: String = value.to_string().chars().take(60).collect();
    let options: Vec<String> =
        options.as_array().into_iter().flatten().map(Value::to_string).collect();
    format!("{value} is not one of {}", options.join(", "))
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
