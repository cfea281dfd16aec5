//! The program's side: one client for one child that runs scripts.
//!
//! Law: a call has one result, in bounded time, whatever the script does. A child that dies or hangs is
//! ended and told of, and the next call starts another.

mod failure;
mod host;
mod line;
mod wait;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jm_types::Cancel;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::protocol::{
    Call, DocumentOptions, Library, LogLevel, ModuleSource, Resolved, ResolverEntry, ScriptContext,
    ScriptLimits, ScriptTool, Start, ToolAnswer,
};
use line::Line;

pub use failure::{CallFailure, SourceFailure};
pub use host::{ScriptChild, ScriptHost, StartChild};

/// The settings of one Lua process.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptSettings {
    /// The script that runs first.
    pub init: ModuleSource,
    /// Bounds of memory and time.
    pub limits: ScriptLimits,
    /// Libraries that the person opened.
    pub allow: Vec<Library>,
    /// The time of a call that names none.
    pub default_timeout: Duration,
    /// The approvals that hold where a script's `setup` sets none.
    pub default_auto_approve: Vec<String>,
}

/// The scripts of one `init.lua`. Nothing is started before something is asked.
pub struct Scripts {
    settings: ScriptSettings,
    host: Arc<dyn ScriptHost>,
    start: StartChild,
    state: Mutex<State>,
}

enum State {
    Idle,
    Running(Arc<Line>),
    /// A script that cannot be loaded is not tried again by every call.
    Failed(String),
}

impl std::fmt::Debug for Scripts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scripts").field("init", &self.settings.init.name).finish_non_exhaustive()
    }
}

/// For questions that a script answers from memory.
const QUICK: Duration = Duration::from_secs(5);

impl Scripts {
    /// Prepares the process without starting it.
    pub fn new(settings: ScriptSettings, host: Arc<dyn ScriptHost>, start: StartChild) -> Self {
        Self { settings, host, start, state: Mutex::new(State::Idle) }
    }

    /// The tools that are registered now, by name; sources may bring more.
    pub fn tools(&self) -> Result<Vec<ScriptTool>, CallFailure> {
        Ok(self.line()?.tools())
    }

    /// Tells whether sources of tools are at work, so that [`Self::wait_for_sources`] would wait.
    pub fn has_open_sources(&self) -> Result<bool, CallFailure> {
        Ok(self.line()?.has_open_sources())
    }

    /// Waits for the sources of tools, and tells which of them failed.
    pub fn wait_for_sources(&self, most: Duration) -> Result<Vec<SourceFailure>, CallFailure> {
        let line = self.line()?;
        if line.has_open_sources() {
            line.call(Call::Ready, most, None)?;
        }
        Ok(line.source_failures())
    }

    /// Runs a tool. An `Err` is a call that has no answer of the tool itself.
    pub fn execute(
        &self,
        tool: &str,
        input: Value,
        context: ScriptContext,
        timeout: Duration,
        cancel: &Cancel,
    ) -> Result<ToolAnswer, CallFailure> {
        let call = Call::Execute { tool: tool.to_owned(), input, context };
        parsed(self.line()?.call(call, timeout, Some(cancel))?)
    }

    /// One line for a pending call, at most so many characters.
    pub fn preview(
        &self,
        tool: &str,
        input: Value,
        max_length: usize,
    ) -> Result<String, CallFailure> {
        self.ask(Call::Preview { tool: tool.to_owned(), input, max_length })
    }

    /// All resolvers, those that are asked first before the others.
    pub fn resolvers(&self) -> Result<Vec<ResolverEntry>, CallFailure> {
        self.ask(Call::Resolvers)
    }

    /// The presets that the script defined, by their names with `$`.
    pub fn presets(&self) -> Result<Map<String, Value>, CallFailure> {
        match self.ask(Call::Presets)? {
            Value::Object(presets) => Ok(presets),
            // An empty table may be a list.
            _ => Ok(Map::new()),
        }
    }

    /// The answer of one resolver, or of the first in the chain that has one where none is named.
    /// `None` passes.
    pub fn resolve(
        &self,
        resolver: Option<&str>,
        tool: &str,
        input: Value,
        context: ScriptContext,
    ) -> Result<Option<Resolved>, CallFailure> {
        let (resolver, tool) = (resolver.map(str::to_owned), tool.to_owned());
        self.ask(Call::Resolve { resolver, tool, input, context })
    }

    /// Evaluates a document's front matter. Its resolver is asked under the same name from then on.
    pub fn evaluate(
        &self,
        document: &str,
        chunk: ModuleSource,
        known_tools: Vec<String>,
        enabled_tools: Vec<String>,
    ) -> Result<DocumentOptions, CallFailure> {
        let document = document.to_owned();
        self.ask(Call::Document { document, chunk, known_tools, enabled_tools })
    }

    /// Asks the resolver that a document's front matter set.
    pub fn resolve_document(
        &self,
        document: &str,
        tool: &str,
        input: Value,
        context: ScriptContext,
    ) -> Result<Option<Resolved>, CallFailure> {
        let (document, tool) = (document.to_owned(), tool.to_owned());
        self.ask(Call::ResolveDocument { document, tool, input, context })
    }

    /// Ends the child, and lets the next call start it anew, also after a failure.
    pub fn restart(&self) {
        *self.state() = State::Idle;
    }

    fn ask<T: DeserializeOwned>(&self, call: Call) -> Result<T, CallFailure> {
        parsed(self.line()?.call(call, QUICK, None)?)
    }

    /// The child that runs, or a new one.
    fn line(&self) -> Result<Arc<Line>, CallFailure> {
        let mut state = self.state();
        match &*state {
            State::Running(line) if line.is_alive() => return Ok(Arc::clone(line)),
            State::Running(_) => {
                let text = "the Lua process had ended and is started again";
                self.host.log(LogLevel::Warn, text);
            }
            State::Failed(message) => return Err(CallFailure::NotStarted(message.clone())),
            State::Idle => {}
        }
        *state = State::Idle;
        match self.open() {
            Ok(line) => {
                *state = State::Running(Arc::clone(&line));
                Ok(line)
            }
            Err(message) => {
                *state = State::Failed(message.clone());
                Err(CallFailure::NotStarted(message))
            }
        }
    }

    fn open(&self) -> Result<Arc<Line>, String> {
        let (socket, child) = (self.start)()
            .map_err(|error| format!("the Lua process cannot be started: {error}"))?;
        let ScriptSettings { init, limits, allow, default_timeout, default_auto_approve } =
            self.settings.clone();
        let default_timeout_seconds = default_timeout.as_secs();
        let name = init.name.clone();
        let start = Start { init, limits, allow, default_timeout_seconds, default_auto_approve };
        Line::open(socket, child, Arc::clone(&self.host), start)
            .map_err(|error| named(&name, error))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An error of loading a script with its name in front, once: Lua's own errors begin with it.
fn named(name: &str, error: String) -> String {
    let has_name = error.strip_prefix(name).is_some_and(|rest| rest.starts_with([':', ' ']));
    if has_name { error } else { format!("{name}: {error}") }
}

/// The runtime is ours, so a value of another shape is a fault of the script that it passed on.
fn parsed<T: DeserializeOwned>(value: Value) -> Result<T, CallFailure> {
    serde_json::from_value(value)
        .map_err(|error| CallFailure::Script(format!("its result has another shape: {error}")))
}
