//! Running one call: deadline, abort, panic, events, result.
//!
//! Law: whatever the tool does, the call ends with exactly one result, and a result is never
//! reported before its effects are settled.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use jm_store::StoredOutput;
use jm_tools::{Effect, Output, Scope, Seen, ToolCtx};
use jm_types::{Cancel, ErrorKind, ToolCall, ToolError, ToolEvent, ToolResult};
use jm_workspace::confine::{Access, Grant};
use jm_workspace::{CommitLog, Freshness, NoLog, ReadRecord};

use crate::batch::{Bitten, Status};
use crate::effects::EffectLog;
use crate::engine::{Canceller, Core};
use crate::grants;
use crate::output;
use crate::plan;
use crate::reply::{self, Form, Reply};
use crate::session::Session;
use crate::track;

/// A command ends itself at its deadline and says what it printed; only after this the framework
/// gives up on it.
const COMMAND_GRACE: Duration = Duration::from_secs(4);
/// How long a commit that has begun may take to end.
const COMMIT_GRACE: Duration = Duration::from_secs(30);

pub(crate) async fn execute(
    core: &Arc<Core>,
    session: &mut Session,
    index: usize,
    canceller: &Canceller,
) {
    let entry = &mut session.batch_mut().entries[index];
    // Planned anew since its approval, and answered there.
    let Status::Approved { fingerprint } = entry.status.clone() else { return };
    let again = entry.bitten.take();
    if let Some(Bitten { result, output, is_granted: false, .. }) = again {
        return finish(core, session, index, Outcome { result, output, seen: Vec::new() });
    }
    let grants = again.map(|bitten| bitten.grants).unwrap_or_default();
    let is_asked = fingerprint.is_some();
    if !begin(core, session, index, fingerprint, &grants) {
        return;
    }
    let entry = &session.batch().entries[index];
    let (call, key) = (entry.call.clone(), entry.key.clone());
    let began = Instant::now();
    let cancel = Cancel::new();
    canceller.activate(&cancel);
    let mut ctx = context(core, session, &call, &key, cancel);
    ctx.approved = session.batch().entries[index].shown.clone().filter(|_| is_asked);
    // A person who was asked about a command that only reads has agreed to an ordinary one.
    let asked = is_asked.then_some(Grant::Ordinary);
    let given: Vec<Grant> = grants.iter().cloned().chain(asked).collect();
    if !given.is_empty() {
        ctx.workspace.confiner = Arc::new(core.workspace.confiner.granting(&given));
    }
    let started = (call.id.clone(), call.name.clone());
    announce(core, ToolEvent::Started { tool_call_id: started.0, tool_name: started.1 }).await;
    let is_held = ctx.workspace.confiner.reader_access() == Access::ReadsOnly;
    let outcome = match session.batch().entries[index].inspects && is_held {
        // It cannot have changed anything.
        true => run(core, &call, &mut ctx).await,
        false => track::around(core, &call, &key, run(core, &call, &mut ctx)).await,
    };
    announce(core, ToolEvent::Completed { tool_call_id: call.id.clone() }).await;
    let seen = ctx.seen.take();
    // While the call holds on to it, recording in it would copy all that was ever read.
    ctx.freshness = Arc::default();
    for (path, record) in &seen {
        session.freshness_mut().record(path.clone(), record.clone());
    }
    let form = Form { limit: ctx.output_limit(), ..session.form() };
    let speaks = core.registry.lookup(&call.name).is_ok_and(|tool| tool.speaks_for_itself());
    let Reply { result, uncut } = match outcome {
        Ok(Output::Whole(answer)) if speaks => {
            Reply { result: reply::as_it_is(&call, answer), uncut: None }
        }
        outcome => reply::reply(form, &call, outcome, ctx.allow_truncation),
    };
    let output = output::keep(core, &key, ctx.whole.take(), uncut).await;
    let entry = &mut session.batch_mut().entries[index];
    entry.duration_ms += u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    let refused = ctx.workspace.confiner.take_refused(&key);
    let wanted = grants::wanted(grants, refused);
    // A set may report a failed command as a result; what ran read-only is offered all the same.
    let is_offered = |grants: &Vec<Grant>| result.is_error() || grants.contains(&Grant::Ordinary);
    match wanted.filter(|grants| session.offers_grants() && is_offered(grants)) {
        Some(grants) => {
            grants::ask(session, index, Bitten { result, output, grants, is_granted: false });
            core.recorder.forget_spool(&key);
        }
        None => finish(core, session, index, Outcome { result, output, seen }),
    }
}

/// That it starts is on record before it does; what cannot be recorded does not run.
fn begin(
    core: &Core,
    session: &mut Session,
    index: usize,
    fingerprint: Option<String>,
    grants: &[Grant],
) -> bool {
    let entry = &mut session.batch_mut().entries[index];
    let recorded = match grants {
        [] if entry.is_announced => Ok(()),
        [] => core.recorder.started(entry, fingerprint),
        grants => core.recorder.started(entry, Some(grants::told(grants))),
    };
    entry.status = Status::Running;
    let form = session.form();
    if let Err(error) = &recorded {
        session.batch_mut().refuse_rest(error, form);
    }
    recorded.is_ok()
}

/// What came of a call.
struct Outcome {
    result: ToolResult,
    output: Option<StoredOutput>,
    seen: Vec<(PathBuf, ReadRecord)>,
}

/// The call has its result, which is recorded before anything else runs.
fn finish(core: &Arc<Core>, session: &mut Session, index: usize, outcome: Outcome) {
    let Outcome { result, output, seen } = outcome;
    session.batch_mut().entries[index].status = Status::Done(result);
    let batch = session.batch();
    let key = batch.entries[index].key.clone();
    match core.recorder.finished(batch, &batch.entries[index], seen, output) {
        Ok(()) => {
            core.recorder.forget_spool(&key);
            core.workspace.confiner.forget_record(&key);
            session.batch_mut().entries[index].is_recorded = true;
        }
        // It has happened, so its result stands; nothing more is run.
        Err(error) => {
            let form = session.form();
            session.batch_mut().refuse_rest(&error, form);
        }
    }
}

async fn announce(core: &Core, event: ToolEvent) {
    // Nobody listening is not an error.
    core.events.send(event).await.unwrap_or_default();
}

fn context(
    core: &Arc<Core>,
    session: &Session,
    call: &ToolCall,
    key: &str,
    cancel: Cancel,
) -> ToolCtx {
    ToolCtx {
        workspace: core.workspace.clone(),
        freshness: Arc::clone(session.freshness()),
        seen: Seen::default(),
        whole: core.recorder.spool(key),
        effects: effect_log(core, key),
        abort: cancel,
        output_tx: core.events.clone(),
        default_timeout: core.default_timeout,
        // Set when the call itself begins.
        deadline: Instant::now() + core.default_timeout,
        max_output_bytes: core.limits.output_bytes,
        available_capacity_bytes: core.capacity(),
        tool_call_id: call.id.clone(),
        call_key: key.to_owned(),
        session_id: session.id.clone(),
        tool_name: call.name.clone(),
        approved: None,
        allow_truncation: true,
        working_dir: core.workspace.sandbox.working_root().path().to_owned(),
        limits: core.limits.clone(),
    }
}

fn effect_log(core: &Arc<Core>, key: &str) -> Arc<Mutex<dyn CommitLog + Send>> {
    match core.recorder.journal() {
        None => Arc::new(Mutex::new(NoLog)),
        Some(_) => Arc::new(Mutex::new(EffectLog::new(core, key))),
    }
}

/// What a preview may use: a context without a call.
pub(crate) fn scope_of(
    core: &Core,
    freshness: Arc<Freshness>,
    session_id: String,
    tool: &str,
) -> Scope {
    let capacity = core.capacity();
    Scope {
        workspace: core.workspace.clone(),
        freshness,
        expected: Default::default(),
        seen: Seen::default(),
        cancel: Cancel::new(),
        session_id,
        limits: core.limits.clone(),
        output_limit: core.result_limit(),
        capacity,
        deadline: Instant::now() + core.default_timeout,
        call_key: String::new(),
        tool_name: tool.to_owned(),
        approved: None,
    }
}

/// Runs the call to its end or its deadline. Its time begins here: what is done around it, such as the look at
/// the workspace before a command, is not taken from it.
async fn run(core: &Core, call: &ToolCall, ctx: &mut ToolCtx) -> Result<Output, ToolError> {
    let tool = core.registry.lookup(&call.name)?;
    let grace = match tool.spec().effect {
        Effect::Inspects | Effect::Runs => COMMAND_GRACE,
        Effect::Reads | Effect::Changes => Duration::ZERO,
    };
    let cancel = ctx.abort.clone();
    let began = Instant::now();
    ctx.deadline = began + tool.timeout().unwrap_or(core.default_timeout);
    let deadline = ctx.deadline + grace;
    let stopped = stopped(&cancel);
    let work = async { plan::prepare(core, call)?.execute(ctx).await };
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
    let outcome = tokio::time::timeout(patience, &mut work).await;
    let stopped = match timed_out {
        true => {
            ToolError::new(ErrorKind::Timeout { tool: call.name.clone(), elapsed: began.elapsed() })
        }
        false => ToolError::cancelled(),
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

/// Ends when the call is cancelled.
async fn stopped(cancel: &Cancel) {
    let (tell, told) = tokio::sync::oneshot::channel::<()>();
    let tell = std::sync::Mutex::new(Some(tell));
    cancel.on_cancel(move || {
        let mut tell = tell.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        drop(tell.take());
    });
    // The sender is dropped, not used, so the answer is always an error; its arrival is the news.
    told.await.unwrap_or_default();
}

fn settled(
    outcome: Result<Result<Output, ToolError>, Box<dyn Any + Send>>,
) -> Result<Output, ToolError> {
    outcome.unwrap_or_else(|payload| Err(panicked(Some(&*payload))))
}

/// A literal panic message is ours; a formatted one may carry a file's content, and is withheld
/// (FR-EXE-04b-3).
pub(crate) fn panicked(payload: Option<&(dyn Any + Send)>) -> ToolError {
    let literal = payload.and_then(|payload| payload.downcast_ref::<&'static str>());
    let message = literal.copied().unwrap_or("internal error");
    ToolError::new(ErrorKind::Panicked { message })
}
