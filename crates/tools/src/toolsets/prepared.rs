//! One parsed call of a toolset's tool: its intent, its preview, and its execution within its time.

use std::sync::{Arc, PoisonError};
use std::time::Instant;

use jm_types::{ErrorKind, ToolError};

use super::envelope::{CallRef, Envelope};
use super::lowered::{Lowered, Stakes};
use crate::context::{CallContext, Scope};
use crate::events::Events;
use crate::foresight::Foreseen;
use crate::operation::{CallSummary, Execution, Operation};
use crate::tool::{Intent, Output, PathUse, Prepared, Preview, ShownCommand, ToolFut, Use};

/// Turns an outcome into what the model reads; the number is what the envelope leaves of the output limit.
pub type Raise<O> = fn(<O as Operation>::Outcome, usize) -> Result<Output, ToolError>;

/// Performs the operation and raises its outcome, on a thread of its own.
type Work = Box<dyn FnOnce(Execution<'_>, usize) -> Result<Output, ToolError> + Send>;

pub(super) struct PreparedCall<O: Operation> {
    pub(super) lowered: Lowered<O>,
    pub(super) stakes: Stakes,
    pub(super) envelope: &'static Envelope,
    pub(super) raise: Raise<O>,
}

impl<O: Operation> std::fmt::Debug for PreparedCall<O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("PreparedCall").field(&self.lowered).finish()
    }
}

impl<O: Operation> Prepared for PreparedCall<O> {
    fn intent(&self) -> Intent {
        let Lowered { operation, summary, within, stands_for, .. } = &self.lowered;
        // A call's own directory must be one of the workspace.
        let within = within.iter().map(|path| PathUse::new(path, Use::WorkIn("meta.cwd")));
        Intent {
            summary: summary.clone(),
            effect: self.stakes.effect,
            risk: self.stakes.risk,
            needs_person: self.stakes.needs_person,
            paths: within.chain(operation.paths()).collect(),
            stands_for: *stands_for,
            command: operation.command(),
            publishes: operation.publishes(),
            pinned: None,
        }
    }

    fn preview(&self, scope: &Scope) -> Result<Option<Preview>, ToolError> {
        self.lowered.operation.preview(scope, CallSummary(&self.lowered.summary))
    }

    fn shown_command(&self, scope: &Scope) -> Option<ShownCommand> {
        self.lowered.operation.shown_command(scope)
    }

    fn previews_its_files(&self) -> bool {
        O::PREVIEWS_ITS_FILES
    }

    fn is_command(&self) -> bool {
        O::IS_COMMAND
    }

    fn foresee(&self, scope: &Scope) -> Foreseen {
        self.lowered.operation.foresee(scope)
    }

    fn execute<'a>(self: Box<Self>, ctx: &'a mut CallContext) -> ToolFut<'a> {
        let Self { lowered, stakes, envelope, raise } = *self;
        let Lowered { operation, timeout, .. } = lowered;
        let work: Work =
            Box::new(move |execution, room| raise(operation.perform(execution)?, room));
        let Some(timeout) = timeout else { return Box::pin(run_work(work, envelope, ctx)) };
        let end = Instant::now() + timeout;
        ctx.deadline = end.min(ctx.deadline);
        if stakes.effect.is_command() {
            // A command ends with its own deadline, and its output is kept.
            return Box::pin(run_work(work, envelope, ctx));
        }
        Box::pin(run_in_time(work, end, envelope, ctx))
    }
}

/// Runs work that has to stop at its next checkpoint when its time is up.
async fn run_in_time(
    work: Work,
    end: Instant,
    envelope: &'static Envelope,
    ctx: &CallContext,
) -> Result<Output, ToolError> {
    let began = Instant::now();
    let (cancel, tool) = (ctx.cancel.clone(), ctx.tool_name.clone());
    let mut work = std::pin::pin!(run_work(work, envelope, ctx));
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
}

async fn run_work(
    work: Work,
    envelope: &'static Envelope,
    ctx: &CallContext,
) -> Result<Output, ToolError> {
    let call = CallRef { id: &ctx.tool_call_id, name: &ctx.tool_name };
    let room = envelope.room(call, ctx.output_limit);
    let (scope, events) = (ctx.clone(), Events::of(ctx));
    let effects = Arc::clone(&ctx.effects);
    ctx.blocking(move || {
        let mut log = effects.lock().unwrap_or_else(PoisonError::into_inner);
        work(Execution { scope: &scope, events, log: &mut *log }, room)
    })
    .await
}
