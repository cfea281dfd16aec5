//! The tools of a session, by name.

use std::collections::HashMap;
use std::sync::Arc;

use jm_types::text::suggest::suggest;
use jm_types::{ErrorKind, ToolDefinition, ToolError, Toolset};

use crate::registered::Registered;
use crate::source::{Listed, Origin, ToolSource};
use crate::tool::ToolExecutor;
use crate::toolsets::{Dialect, STANDARD};

/// The tools of a session, and the toolset in whose envelope they answer.
pub struct ToolRegistry {
    dialect: &'static Dialect,
    tools: HashMap<String, Arc<Registered>>,
    sources: Vec<Box<dyn ToolSource>>,
}

impl std::fmt::Debug for ToolRegistry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.tools.keys()).finish()
    }
}

impl ToolRegistry {
    /// Tools that answer in the envelope of `standard`.
    pub fn new(tools: impl IntoIterator<Item = Box<dyn ToolExecutor>>) -> Result<Self, ToolError> {
        Self::speaking(&STANDARD, tools)
    }

    /// Tools that answer in this toolset's envelope, whoever brought them.
    pub fn speaking(
        dialect: &'static Dialect,
        tools: impl IntoIterator<Item = Box<dyn ToolExecutor>>,
    ) -> Result<Self, ToolError> {
        let mut registry = Self { dialect, tools: HashMap::new(), sources: Vec::new() };
        tools.into_iter().try_for_each(|tool| registry.register(tool))?;
        Ok(registry)
    }

    /// Adds a tool; a second one of the same name is an error.
    pub fn register(&mut self, executor: Box<dyn ToolExecutor>) -> Result<(), ToolError> {
        let name = executor.name().to_owned();
        if self.tools.contains_key(&name) {
            return Err(ToolError::new(ErrorKind::DuplicateTool { name }));
        }
        self.tools.insert(name, Arc::new(Registered::new(executor)));
        Ok(())
    }

    /// The toolset in whose envelope tools answer.
    pub fn dialect(&self) -> &'static Dialect {
        self.dialect
    }

    /// The name of that toolset.
    pub fn toolset(&self) -> Toolset {
        self.dialect.toolset
    }

    /// Tools that come on top of those registered, whose names win.
    pub fn add_source(&mut self, source: Box<dyn ToolSource>) {
        self.sources.push(source);
    }

    /// A tool that no source brings.
    pub fn built_in(&self, name: &str) -> Option<&Registered> {
        self.tools.get(name).map(|tool| &**tool)
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
        if self.tools.contains_key(name) {
            return refusal;
        }
        self.sources.iter().fold(refusal, |error, source| source.in_own_words(name, error))
    }

    /// Refuses a name that no tool has. The tool is not asked anything.
    pub fn knows(&self, name: &str) -> Result<(), ToolError> {
        let is_known = self.tools.contains_key(name) || self.names().iter().any(|one| one == name);
        is_known.then_some(()).ok_or_else(|| self.unknown(name))
    }

    /// Definitions of the tools that are ready, sorted by name (NFR-MAIN-03). Waits for the sources as they
    /// see fit.
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

    /// A face has opened that will offer the tools: sources that take time begin.
    pub fn begin(&self) {
        self.sources.iter().for_each(|source| source.begin());
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
                if unasked.is_empty() {
                    return error;
                }
                error.hint(format!("not checked yet: {}", unasked.join(", ")))
            }
        }
    }
}
