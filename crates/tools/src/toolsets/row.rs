//! One row of a toolset's table, and the tool that it becomes.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use jm_types::text::mask_credentials;
use jm_types::text::one_line::{SUMMARY_CHARACTERS, summarize};
use jm_types::{ErrorKind, Limits, RiskLevel, ToolError};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{CallRef, Dialects, Operation, Outcome, Toolset};
use crate::context::{CallContext, Scope};
use crate::foresight::Foreseen;
use crate::ops::change::ChangedFile;
use crate::ops::exact::entry;
use crate::ops::run::Events;
use crate::tool::{
    Effect, Intent, Output, PathUse, Prepared, Preview, ToolExecutor, ToolFut, ToolSpec, Use,
};

/// The times that tools may take (CFG-TMO-01a).
#[derive(Debug, Clone, Copy)]
pub struct Timeouts {
    pub file_operations: Duration,
    pub shell_commands: Duration,
}

/// What a call does to the world, how much is at risk, and whether only a person may allow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stakes {
    pub effect: Effect,
    pub risk: RiskLevel,
    pub needs_person: bool,
}

impl Stakes {
    pub const READS: Self =
        Self { effect: Effect::Reads, risk: RiskLevel::Low, needs_person: false };
    pub const CHANGES: Self =
        Self { effect: Effect::Changes, risk: RiskLevel::Medium, needs_person: false };
    /// A change that only a person may allow, whatever the mode.
    pub const GATED_CHANGES: Self = Self { needs_person: true, ..Self::CHANGES };
    /// A program that confinement keeps to reading; nobody is asked.
    pub const INSPECTS: Self =
        Self { effect: Effect::Inspects, risk: RiskLevel::Low, needs_person: false };
    pub const RUNS: Self = Self { effect: Effect::Runs, risk: RiskLevel::High, needs_person: true };
}

/// A parsed call: what it does, and how it is summed up for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lowered {
    pub operation: Operation,
    pub summary: String,
    /// What is at stake in this very call, where it differs from what its row says.
    pub stakes: Option<Stakes>,
    /// The directory that its paths count from, where the call names one.
    pub within: Option<String>,
    /// The most time it may take, where the call names one.
    pub timeout: Option<Duration>,
    /// The tool whose rules govern this call, where that is another one.
    pub stands_for: Option<&'static str>,
}

impl Lowered {
    pub fn new(operation: Operation, summary: impl Into<String>) -> Self {
        Self {
            operation,
            summary: summary.into(),
            stakes: None,
            within: None,
            timeout: None,
            stands_for: None,
        }
    }

    #[must_use]
    pub fn at_stake(self, stakes: Stakes) -> Self {
        Self { stakes: Some(stakes), ..self }
    }
}

type Lower = fn(Value, &Limits) -> Result<Lowered, ToolError>;
/// The number is what the set's envelope leaves of the output limit.
type Raise = fn(Outcome, usize) -> Result<Output, ToolError>;

/// The origin of a tool's schema.
#[derive(Debug)]
pub(crate) enum SchemaOf {
    /// A document's, verbatim.
    Document(&'static str),
    /// Its argument struct's.
    Struct(fn() -> Value),
}

impl SchemaOf {
    pub(crate) fn value(&self) -> Result<Value, serde_json::Error> {
        match self {
            Self::Document(text) => serde_json::from_str(text),
            Self::Struct(derive) => Ok(derive()),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) schema: SchemaOf,
    /// The most that any call of the tool puts at stake.
    pub(crate) stakes: Stakes,
    pub(crate) lower: Lower,
    pub(crate) raise: Raise,
}

struct Tool {
    spec: ToolSpec,
    toolset: Toolset,
    lower: Lower,
    raise: Raise,
}

impl Row {
    pub(crate) fn tool(
        &self,
        toolset: Toolset,
        timeouts: &Timeouts,
    ) -> Result<Box<dyn ToolExecutor>, ToolError> {
        let schema = self
            .schema
            .value()
            .map_err(|error| ToolError::failed(self.name, format!("schema: {error}")))?;
        let Stakes { effect, risk, needs_person } = self.stakes;
        let timeout = match effect {
            Effect::Reads | Effect::Changes => timeouts.file_operations,
            Effect::Inspects | Effect::Runs => timeouts.shell_commands,
        };
        let spec = ToolSpec {
            name: self.name.to_owned(),
            description: self.description.to_owned(),
            schema,
            effect,
            risk,
            needs_person,
            timeout: Some(timeout),
        };
        Ok(Box::new(Tool { spec, toolset, lower: self.lower, raise: self.raise }))
    }
}

impl ToolExecutor for Tool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(&self, args: Value, limits: &Limits) -> Result<Box<dyn Prepared>, ToolError> {
        let Lowered { operation, summary, stakes, within, timeout, stands_for } =
            (self.lower)(args, limits)?;
        let ToolSpec { effect, risk, needs_person, .. } = self.spec;
        Ok(Box::new(PreparedCall {
            operation,
            summary,
            stakes: stakes.unwrap_or(Stakes { effect, risk, needs_person }),
            within,
            timeout,
            stands_for,
            toolset: self.toolset,
            raise: self.raise,
        }))
    }
}

#[derive(Debug)]
struct PreparedCall {
    operation: Operation,
    summary: String,
    stakes: Stakes,
    within: Option<String>,
    timeout: Option<Duration>,
    stands_for: Option<&'static str>,
    toolset: Toolset,
    raise: Raise,
}

impl Prepared for PreparedCall {
    fn intent(&self) -> Intent {
        Intent {
            summary: self.summary.clone(),
            effect: self.stakes.effect,
            risk: self.stakes.risk,
            needs_person: self.stakes.needs_person,
            paths: self.within.iter().map(within).chain(self.operation.paths()).collect(),
            stands_for: self.stands_for,
        }
    }

    fn preview(&self, scope: &Scope) -> Result<Option<Preview>, ToolError> {
        // The question shows the whole command wherever its summary does not.
        match &self.operation {
            Operation::Run(run) if run.is_only_a_command() && self.is_shown_whole() => Ok(None),
            Operation::Job(_) if !self.is_shown_whole() => {
                let text = entry("in full", &mask_credentials(&self.summary));
                Ok(Some(Preview { text, ..Preview::default() }))
            }
            operation => operation.preview(scope),
        }
    }

    fn previews_its_files(&self) -> bool {
        matches!(self.operation, Operation::Change(_))
    }

    fn foresee(&self, scope: &Scope) -> Foreseen {
        self.operation.foresee(scope)
    }

    fn execute<'a>(self: Box<Self>, ctx: &'a mut CallContext) -> ToolFut<'a> {
        Box::pin(async move {
            let began = Instant::now();
            let end = self.timeout.map(|asked| began + asked);
            ctx.deadline = end.map_or(ctx.deadline, |end| end.min(ctx.deadline));
            let cancel = ctx.cancel.clone();
            let tool = ctx.tool_name.clone();
            let (is_command, work) = (self.stakes.effect.is_command(), self.work(ctx));
            let Some(end) = end.filter(|_| !is_command) else { return work.await };
            let mut work = std::pin::pin!(work);
            tokio::select! {
                outcome = &mut work => return outcome,
                () = tokio::time::sleep_until(end.into()) => {}
            }
            // A change that has begun ends as it would; anything else stops at its next checkpoint.
            let is_committing = !cancel.cancel();
            match work.await {
                Err(error) if error.kind == ErrorKind::Cancelled && !is_committing => {
                    Err(ToolError::new(ErrorKind::Timeout { tool, elapsed: began.elapsed() }))
                }
                outcome => outcome,
            }
        })
    }
}

/// A call's own directory must be one of the workspace.
fn within(directory: &String) -> PathUse {
    PathUse::new(directory, Use::WorkIn("meta.cwd"))
}

impl PreparedCall {
    /// Whether the summary, as it will be shown, leaves nothing out.
    fn is_shown_whole(&self) -> bool {
        let shown = summarize(&self.summary, SUMMARY_CHARACTERS);
        !shown.cut && shown.text == self.summary
    }

    async fn work(self: Box<Self>, ctx: &CallContext) -> Result<Output, ToolError> {
        let call = CallRef { id: &ctx.tool_call_id, name: &ctx.tool_name };
        let room = self.toolset.room(call, ctx.output_limit);
        let scope = ctx.clone();
        let events = Events::of(ctx);
        let operation = self.operation;
        let effects = Arc::clone(&ctx.effects);
        let outcome = ctx
            .blocking(move || {
                let mut effects = effects.lock().unwrap_or_else(PoisonError::into_inner);
                operation.run(&scope, events, &mut *effects)
            })
            .await?;
        (self.raise)(outcome, room)
    }
}

/// The one parse boundary (FR-REG-02). Arguments have names: a list would be taken by position.
pub(crate) fn parse<A: DeserializeOwned>(args: Value) -> Result<A, ToolError> {
    if !args.is_object() {
        return Err(ToolError::bad_args(format!("expected a JSON object, got {}", kind(&args))));
    }
    serde_json::from_value(args).map_err(|error| ToolError::bad_args(error.to_string()))
}

/// The JSON type of a value, with its article.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// A row that pairs a `lower` with another operation's `raise` is a mistake of ours.
pub(crate) fn mismatch(tool: &str, outcome: &Outcome) -> ToolError {
    ToolError::failed(tool, format!("unexpected outcome {:.40}", format!("{outcome:?}")))
}

/// What was done, and below it what could not be kept of the file or is wrong with it now.
pub(crate) fn with_notes(said: String, file: &ChangedFile) -> String {
    let notes = file.notes.iter().map(|note| format!("note: {note}"));
    std::iter::once(said).chain(notes).collect::<Vec<_>>().join("\n")
}
