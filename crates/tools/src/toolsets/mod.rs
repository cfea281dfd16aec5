//! The dialects: each toolset says the operations in its own words.
//!
//! Law: a tool here is two pure functions. `lower` turns arguments into an operation, `raise` turns
//! an outcome into what the model reads. No I/O can be written in a toolset.

pub mod forge;

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use jm_types::{Limits, RiskLevel, ToolError};
use jm_workspace::CommitLog;
use serde_json::Value;

use crate::context::{Scope, ToolCtx};
use crate::ops::change::{Change, ChangedFile};
use crate::ops::read::{Read, ReadOutcome};
use crate::ops::run::{Events, Run, RunOutcome};
use crate::ops::walk::{Walk, WalkOutcome};
use crate::tool::{
    Effect, Intent, Output, PathUse, Prepared, Preview, ToolExecutor, ToolFut, ToolSpec, Use,
};

/// The times that tools may take (CFG-TMO-01a).
#[derive(Debug, Clone, Copy)]
pub struct Timeouts {
    pub file_operations: Duration,
    pub shell_commands: Duration,
}

/// What a call asks the workspace to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    Read(Read),
    Walk(Walk),
    Change(Change),
    Run(Run),
}

/// What came of it.
#[derive(Debug)]
pub enum Outcome {
    Read(ReadOutcome),
    Walked(Walk, WalkOutcome),
    Changed(Vec<ChangedFile>),
    Ran(RunOutcome),
}

/// A parsed call: what it does, and how it is summed up for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lowered {
    pub operation: Operation,
    pub summary: String,
}

type Lower = fn(Value, &Limits) -> Result<Lowered, ToolError>;
type Raise = fn(Outcome, usize) -> Result<Output, ToolError>;

/// One row of a toolset's table.
pub(crate) struct Row {
    name: &'static str,
    description: &'static str,
    /// The schema, verbatim.
    schema: &'static str,
    effect: Effect,
    risk: RiskLevel,
    needs_person: bool,
    lower: Lower,
    raise: Raise,
}

struct Tool {
    spec: ToolSpec,
    lower: Lower,
    raise: Raise,
}

impl Row {
    fn tool(&self, timeouts: &Timeouts) -> Result<Box<dyn ToolExecutor>, ToolError> {
        let schema = serde_json::from_str(self.schema)
            .map_err(|error| ToolError::failed(self.name, format!("schema: {error}")))?;
        let timeout = match self.effect {
            Effect::Reads | Effect::Changes => timeouts.file_operations,
            Effect::Runs => timeouts.shell_commands,
        };
        let spec = ToolSpec {
            name: self.name.to_owned(),
            description: self.description.to_owned(),
            schema,
            effect: self.effect,
            risk: self.risk,
            needs_person: self.needs_person,
            timeout: Some(timeout),
        };
        Ok(Box::new(Tool { spec, lower: self.lower, raise: self.raise }))
    }
}

impl ToolExecutor for Tool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(&self, args: Value, limits: &Limits) -> Result<Box<dyn Prepared>, ToolError> {
        let lowered = (self.lower)(args, limits)?;
        Ok(Box::new(PreparedCall { spec: self.spec.clone(), lowered, raise: self.raise }))
    }
}

#[derive(Debug)]
struct PreparedCall {
    spec: ToolSpec,
    lowered: Lowered,
    raise: Raise,
}

impl Prepared for PreparedCall {
    fn intent(&self) -> Intent {
        Intent {
            summary: self.lowered.summary.clone(),
            effect: self.spec.effect,
            risk: self.spec.risk,
            needs_person: self.spec.needs_person,
            paths: self.lowered.operation.paths(),
        }
    }

    fn preview(&self, scope: &Scope) -> Result<Option<Preview>, ToolError> {
        match &self.lowered.operation {
            Operation::Change(change) => change.preview(scope).map(Some),
            Operation::Read(_) | Operation::Walk(_) | Operation::Run(_) => Ok(None),
        }
    }

    fn execute<'a>(self: Box<Self>, ctx: &'a mut ToolCtx) -> ToolFut<'a> {
        Box::pin(async move {
            let scope = ctx.scope();
            let limit = ctx.output_limit();
            let events = Events::of(ctx);
            let operation = self.lowered.operation;
            let effects = Arc::clone(&ctx.effects);
            let outcome = ctx
                .blocking(move || {
                    let mut effects = effects.lock().unwrap_or_else(PoisonError::into_inner);
                    operation.run(&scope, events, &mut *effects)
                })
                .await?;
            (self.raise)(outcome, limit)
        })
    }
}

impl Operation {
    fn paths(&self) -> Vec<PathUse> {
        match self {
            Operation::Read(read) => vec![PathUse::new(&read.path, Use::Read)],
            Operation::Walk(walk) => vec![PathUse::new(&walk.path, Use::List)],
            Operation::Change(change) => {
                change.files.iter().map(|file| PathUse::new(&file.path, Use::Write)).collect()
            }
            Operation::Run(_) => Vec::new(),
        }
    }

    fn run(
        self,
        scope: &Scope,
        events: Events,
        effects: &mut dyn CommitLog,
    ) -> Result<Outcome, ToolError> {
        match self {
            Operation::Read(read) => read.run(scope).map(Outcome::Read),
            Operation::Walk(walk) => {
                let walked = walk.run(scope)?;
                Ok(Outcome::Walked(walk, walked))
            }
            Operation::Change(change) => change.run(scope, effects).map(Outcome::Changed),
            Operation::Run(run) => run.run(scope, events).map(Outcome::Ran),
        }
    }
}
