//! One row of a toolset's table, and the tool that it becomes.
//!
//! Law: a row pairs `lower` and `raise` of one operation; the compiler refuses any other pair.

use std::sync::OnceLock;
use std::time::Duration;

use jm_files::NoLog;
use jm_types::{Limits, ToolEffect, ToolError};
use serde_json::Value;

use super::envelope::Envelope;
use super::lowered::{Lowered, Stakes};
use super::prepared::{PreparedCall, Raise};
use crate::context::Scope;
use crate::events::Events;
use crate::operation::{Execution, Operation};
use crate::tool::{Output, Prepared, ToolExecutor, ToolSpec};

/// The times that tools may take (CFG-TMO-01a).
#[derive(Debug, Clone, Copy)]
pub struct Timeouts {
    /// Reads, edits and searches.
    pub file_operations: Duration,
    /// Commands and tests.
    pub shell_commands: Duration,
}

/// The origin of a tool's schema.
#[derive(Debug)]
pub enum SchemaOf {
    /// A document's, verbatim.
    Document(&'static str),
    /// Its argument struct's.
    Struct(fn() -> Value),
}

impl SchemaOf {
    /// The schema as JSON; an error is a mistake of ours.
    pub fn value(&self) -> Result<Value, serde_json::Error> {
        match self {
            Self::Document(text) => serde_json::from_str(text),
            Self::Struct(derive) => Ok(derive()),
        }
    }
}

/// A tool as data.
#[derive(Debug)]
pub struct Row {
    /// The name that the model calls.
    pub name: &'static str,
    /// The text for the model.
    pub description: &'static str,
    /// The JSON schema of the arguments.
    pub schema: SchemaOf,
    /// The most that any call of the tool puts at stake.
    pub stakes: Stakes,
    /// Lowers and raises its calls.
    pub translation: &'static dyn Translation,
}

/// Turns arguments into an operation; pure.
pub type Lower<O> = fn(Value, &Limits) -> Result<Lowered<O>, ToolError>;

/// The two pure functions of a tool.
pub struct Translate<O: Operation> {
    /// Parses the arguments.
    pub lower: Lower<O>,
    /// Makes the answer.
    pub raise: Raise<O>,
}

impl<O: Operation> std::fmt::Debug for Translate<O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(std::any::type_name::<Self>())
    }
}

/// A [`Translate`] of whatever operation.
pub trait Translation: std::fmt::Debug + Sync {
    /// Parses a call whose answer is given in that envelope.
    fn prepare(
        &self,
        args: Value,
        limits: &Limits,
        stakes: Stakes,
        envelope: &'static Envelope,
    ) -> Result<Box<dyn Prepared>, ToolError>;

    /// Parses and performs a call on this thread, without events and without a journal.
    fn perform_here(&self, args: Value, scope: &Scope) -> Result<Output, ToolError>;
}

impl<O: Operation> Translation for Translate<O> {
    fn prepare(
        &self,
        args: Value,
        limits: &Limits,
        stakes: Stakes,
        envelope: &'static Envelope,
    ) -> Result<Box<dyn Prepared>, ToolError> {
        let lowered = (self.lower)(args, limits)?;
        let stakes = lowered.stakes.unwrap_or(stakes);
        Ok(Box::new(PreparedCall { lowered, stakes, envelope, raise: self.raise }))
    }

    fn perform_here(&self, args: Value, scope: &Scope) -> Result<Output, ToolError> {
        let lowered = (self.lower)(args, &Limits::default())?;
        let execution = Execution { scope, events: Events::unheard(), log: &mut NoLog };
        (self.raise)(lowered.operation.perform(execution)?, scope.output_limit)
    }
}

struct RowTool {
    row: &'static Row,
    spec: ToolSpec,
    /// Made when it is first asked for: a call needs that of its own tool alone.
    schema: OnceLock<Value>,
    envelope: &'static Envelope,
}

impl Row {
    /// The tool of this row, which answers in that envelope.
    pub(super) fn tool(
        &'static self,
        envelope: &'static Envelope,
        timeouts: &Timeouts,
    ) -> Box<dyn ToolExecutor> {
        let Stakes { effect, risk, needs_person } = self.stakes;
        let timeout = match effect {
            ToolEffect::Reads | ToolEffect::Changes => timeouts.file_operations,
            ToolEffect::Inspects | ToolEffect::Runs => timeouts.shell_commands,
        };
        let spec = ToolSpec {
            name: self.name.to_owned(),
            description: self.description.to_owned(),
            effect,
            risk,
            needs_person,
            timeout: Some(timeout),
        };
        Box::new(RowTool { row: self, spec, schema: OnceLock::new(), envelope })
    }
}

impl ToolExecutor for RowTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn schema(&self) -> &Value {
        // A document that is no JSON, which a test rules out, would be a schema that nothing satisfies.
        self.schema.get_or_init(|| self.row.schema.value().unwrap_or(Value::Bool(false)))
    }

    fn prepare(&self, args: Value, limits: &Limits) -> Result<Box<dyn Prepared>, ToolError> {
        self.row.translation.prepare(args, limits, self.row.stakes, self.envelope)
    }
}
