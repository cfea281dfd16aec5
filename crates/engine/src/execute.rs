//! Executing one call: deadline, abort, panic, events, result.
//!
//! Law: whatever the tool does, the call ends with exactly one result, and a result is never
//! reported before its effects are settled.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use jm_process::confine::{Access, Grant};
use jm_store::StoredOutput;
use jm_tools::{CallContext, CommandHolder, Output, Prepared, ToolEffect, cancelled};
use jm_types::{
    CallKey, Cancel, ErrorKind, ReadRecord, ToolCall, ToolError, ToolEvent, ToolResult,
};

use crate::context;
use crate::core::Core;
use crate::hold::{self, AwaitedLayer, CommandCompany, CommandGround};
use crate::output;
use crate::panicked::panicked;
use crate::reply::{self, Reply, ResultForm};
use crate::session_context::Asker;
use crate::track;

/// A command ends itself at its deadline and says what it printed; only after this the framework
/// gives up on it.
const COMMAND_GRACE: Duration = Duration::from_secs(4);
/// How long a commit that has begun may take to end.
const COMMIT_GRACE: Duration = Duration::from_secs(30);

/// A call that is about to run: approved, parsed, and on record as started.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) key: CallKey,
    pub(crate) call: ToolCall,
    /// The parsed call, or why a call of another process could not be parsed here.
    pub(crate) prepared: Result<Box<dyn Prepared>, ToolError>,
    /// Of the approval, where a person gave one.
    pub(crate) fingerprint: Option<String>,
    /// The preview that went with the question.
    pub(crate) shown: Option<String>,
    /// It is a command that confinement keeps to reading.
    pub(crate) inspects: bool,
    /// The person's grants, where it runs again with more.
    pub(crate) grants: Vec<Grant>,
    pub(crate) asker: Asker,
    pub(crate) form: ResultForm,
    /// The calls with which it runs.
    pub(crate) company: CommandCompany,
    /// The part of the context that its result may take: one of so many.
    pub(crate) share: usize,
}

/// The outcome of a call that ran.
#[derive(Debug)]
pub(crate) struct Executed {
    pub(crate) result: ToolResult,
    pub(crate) output: Option<StoredOutput>,
    /// The files that it has shown to the model.
    pub(crate) seen: Vec<(PathBuf, ReadRecord)>,
    /// The grants that would have let it have what confinement refused.
    pub(crate) refused: Vec<Grant>,
    /// The layer of its command that waits for a person's word.
    pub(crate) awaited: Option<AwaitedLayer>,
    /// The layer of its changes that were set aside, and about which nobody is asked.
    pub(crate) set_aside: Option<String>,
    pub(crate) elapsed: Duration,
}

/// Runs a call to its one result.
pub(crate) async fn execute(core: &Arc<Core>, ready: Ready, cancel: Cancel) -> Executed {
    let Ready { key, call, prepared, fingerprint, shown, inspects, grants, asker, form, .. } =
        ready;
    let (company, share) = (ready.company, ready.share);
    // Dropped when the call is over, so that nobody waits for it any longer.
    let _turn_end = match &company {
        CommandCompany::Beside(turn) => Some(turn.begin()),
        CommandCompany::None | CommandCompany::Stacked(_) => None,
    };
    let began = Instant::now();
    let mut ctx = context::for_run(core, asker, (&key, &call.id, &call.name), cancel);
    ctx.output_limit = ctx.output_limit.min(ctx.capacity / share);
    ctx.approved = shown.filter(|_| fingerprint.is_some());
    // A person who was asked about a command that only reads has agreed to an ordinary one.
    let asked = fingerprint.map(|_| Grant::Ordinary);
    let given: Vec<Grant> = grants.into_iter().chain(asked).collect();
    if !given.is_empty() {
        ctx.workspace.confiner = Arc::new(core.workspace.confiner.granting(&given));
    }
    let (tool_call_id, tool_name) = (call.id.clone(), call.name.clone());
    core.announce(ToolEvent::Started { tool_call_id, tool_name }).await;
    let only_reads = inspects && ctx.workspace.confiner.reader_access() == Access::ReadsOnly;
    if only_reads {
        ctx.access = Access::ReadsOnly;
    }
    let parsed = prepared.as_deref().ok().filter(|_| !only_reads);
    let mut holder = None;
    let outcome = match hold::ground_of(core, parsed, (&key, &call.id), company).await {
        Err(refused) => Err(refused),
        // It cannot have changed anything.
        Ok(CommandGround::Workspace) if only_reads => run(core, &call, prepared, &mut ctx).await,
        Ok(CommandGround::Workspace) => {
            track::around(core, &call, &key, run(core, &call, prepared, &mut ctx)).await
        }
        Ok(CommandGround::Layers(own)) => {
            ctx.holder = Some(Arc::clone(&own) as Arc<dyn CommandHolder>);
            holder = Some(own);
            track::around_direct(core, &call, run(core, &call, prepared, &mut ctx)).await
        }
    };
    let outcome = match &holder {
        Some(holder) if holder.has_kept() => tell_kept(core, &call, outcome).await,
        Some(_) | None => outcome,
    };
    core.announce(ToolEvent::Completed { tool_call_id: call.id.clone() }).await;
    let form = ResultForm { limit: ctx.output_limit, ..form };
    let speaks = core.registry.lookup(&call.name).is_ok_and(|tool| tool.speaks_for_itself());
    let Reply { result, uncut } = match outcome {
        Ok(Output::Whole(answer)) if speaks => {
            Reply { result: reply::as_it_is(&call, answer), uncut: None }
        }
        outcome => reply::reply(form, &call, outcome, ctx.allow_truncation),
    };
    let output = output::keep(core, &key, ctx.whole.take(), uncut).await;
    let (seen, refused) = (ctx.seen.take(), ctx.refused.take());
    let awaited = holder.as_ref().and_then(|holder| holder.take_awaited());
    let set_aside = holder.and_then(|holder| holder.take_set_aside());
    Executed { result, output, seen, refused, awaited, set_aside, elapsed: began.elapsed() }
}

/// Says of a command that was cancelled that what it had changed by then is in the workspace.
async fn tell_kept(
    core: &Core,
    call: &ToolCall,
    outcome: Result<Output, ToolError>,
) -> Result<Output, ToolError> {
    match outcome {
        Err(error) if error.kind == ErrorKind::Cancelled => {
            let text = "cancelled; its changes so far were kept (undo: `jm undo`)".to_owned();
            core.announce(ToolEvent::Noticed { tool_call_id: call.id.clone(), text }).await;
            Err(error.hint("its changes so far were kept; undo them with `jm undo`"))
        }
        outcome => outcome,
    }
}

/// Runs the call to its end or its deadline. Its time begins here: what is done around it, such as the look at
/// the workspace before a command, is not taken from it.
async fn run(
    core: &Core,
    call: &ToolCall,
    prepared: Result<Box<dyn Prepared>, ToolError>,
    ctx: &mut CallContext,
) -> Result<Output, ToolError> {
    let tool = core.registry.lookup(&call.name)?;
    let grace = match tool.spec().effect {
        ToolEffect::Inspects | ToolEffect::Runs => COMMAND_GRACE,
        ToolEffect::Reads | ToolEffect::Changes => Duration::ZERO,
    };
    let (cancel, holder) = (ctx.cancel.clone(), ctx.holder.clone());
    let began = Instant::now();
    ctx.deadline = began + tool.timeout().unwrap_or(core.default_timeout);
    let deadline = ctx.deadline + grace;
    let stopped = cancelled(&cancel);
    let work = async { prepared?.execute(ctx).await };
    // Tools hold no state across calls, so nothing half changed can be seen after a panic.
    let mut work = AssertUnwindSafe(work).catch_unwind().boxed();
    let timed_out = tokio::select! {
        outcome = &mut work => return settled(outcome),
        () = tokio::time::sleep_until(deadline.into()) => true,
        () = stopped => false,
    };
    let is_committing = !cancel.cancel();
    let patience = if is_committing { COMMIT_GRACE } else { grace };
    // A command that is being stopped still reports what it printed, a commit that has begun ends.
    let mut outcome = tokio::time::timeout(patience, &mut work).await;
    while outcome.is_err() && holder.as_ref().is_some_and(|holder| holder.is_settling()) {
        outcome = tokio::time::timeout(patience, &mut work).await;
    }
    let stopped = if timed_out {
        ToolError::new(ErrorKind::Timeout { tool: call.name.clone(), elapsed: began.elapsed() })
    } else {
        ToolError::cancelled()
    };
    match outcome.map(settled) {
        // It stopped because we told it to; why we did is for us to say.
        Ok(Err(error)) if error.kind == ErrorKind::Cancelled => {
            Err(ToolError { kind: stopped.kind, ..error })
        }
        Ok(outcome) => outcome,
        Err(_) => Err(stopped),
    }
}

fn settled(
    outcome: Result<Result<Output, ToolError>, Box<dyn Any + Send>>,
) -> Result<Output, ToolError> {
    outcome.unwrap_or_else(|payload| Err(panicked(Some(&*payload))))
}
