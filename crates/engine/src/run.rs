//! The steps of a batch, in order: plan, record, ask, execute, reply, record.
//!
//! Law: the session is changed here and in no step. A step takes data and gives data back.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use jm_process::confine::Grant;
use jm_store::StoredOutput;
use jm_types::{Cancel, DenialReason, ErrorKind, ReadRecord, ToolError, ToolResult, ToolsMode};
use tracing::{Instrument, info_span};

use crate::ahead::CallsAhead;
use crate::answer::{self, HeldOutcome, leave_answered};
use crate::batch::{CallStatus, HeldAnswer, Journaled, RefusedCommand};
use crate::batch_diff::combine_changes;
use crate::call_turns::KeepTurns;
use crate::canceller::Canceller;
use crate::commands_ahead;
use crate::core::Core;
use crate::execute::{self, Executed, Ready};
use crate::grants;
use crate::hold::{self, CommandCompany};
use crate::layer_stack::LayerStack;
use crate::plan::{self, Disposition, Planned, PreviewRule};
use crate::prepare::prepare;
use crate::reply::{self, ResultForm};
use crate::revalidate::{Approved, Revalidated, revalidate};
use crate::session::{Pause, Session};

/// Works until every call has its result, or a person is needed.
pub(crate) async fn run(core: &Arc<Core>, session: &mut Session, canceller: &Canceller) -> Pause {
    plan_batch(core, session).await;
    record_batch(core, session);
    leave_answered(core, session);
    if canceller.is_requested() {
        return cancel_rest(core, session);
    }
    if session.batch().awaits_results() {
        return Pause::NeedsResults;
    }
    if session.batch().awaits_a_person() {
        return Pause::NeedsApproval;
    }
    for index in session.batch().left_on_layers() {
        let Some(refusal) = session.batch_mut().entries[index].leave_refusal() else { continue };
        let RefusedCommand { result, output, .. } = refusal;
        finish(core, session, index, FinishedCall { result, output, seen: Vec::new() });
    }
    for index in 0..session.batch().entries.len() {
        if !matches!(session.batch().entries[index].status, CallStatus::Approved { .. }) {
            continue;
        }
        let together = hold::together(core, session.batch(), index).await;
        match together.as_slice() {
            [first, ..] if session.batch().entries[*first].is_new_effect() => {
                run_stacked(core, session, &together, canceller).await;
            }
            [_, _, ..] => run_together(core, session, &together, canceller).await,
            _ => run_entry(core, session, index, canceller).await,
        }
        if session.batch().awaits_a_person() && !canceller.is_requested() {
            return Pause::NeedsApproval;
        }
        for index in together {
            let result = session.batch().entries[index].result();
            core.take_capacity(result.map_or(0, |result| result.content.len()));
        }
        if canceller.is_requested() {
            return cancel_rest(core, session);
        }
    }
    Pause::Finished
}

/// Gives every new entry its disposition (FR-APR-02).
async fn plan_batch(core: &Arc<Core>, session: &mut Session) {
    let mut ids = HashSet::new();
    let mut ahead = CallsAhead::default();
    let new =
        session.batch().entries.iter().filter(|entry| matches!(entry.status, CallStatus::New));
    commands_ahead::calls_came(core, new.map(|entry| &entry.call));
    for index in 0..session.batch().entries.len() {
        let entry = &session.batch().entries[index];
        let is_duplicate = !ids.insert(entry.call.id.clone());
        let call = entry.call.clone();
        if !matches!(entry.status, CallStatus::New) {
            if entry.result().is_none() {
                ahead.push(call);
            }
            continue;
        }
        let planned = match admit(core, session, index, is_duplicate) {
            Err(error) => Planned::refused(core, error),
            Ok(()) if core.mode == ToolsMode::ParseOnly => plan::plan_wait(core, &call),
            Ok(()) => {
                let span = info_span!("plan", key = %entry.key, tool = ?call.name);
                let asker = session.asker();
                let planned =
                    plan::plan_call(core, asker, call.clone(), &mut ahead, PreviewRule::WhenAsked);
                planned.instrument(span).await
            }
        };
        settle(core, session, index, planned);
        if session.batch().entries[index].result().is_none() {
            ahead.push(call);
        }
    }
    let combined = combine_changes(core, session.asker(), session.batch(), ahead).await;
    session.batch_mut().combined = combined;
}

/// Applies the rules that belong to the batch rather than to the call.
fn admit(
    core: &Core,
    session: &Session,
    index: usize,
    is_duplicate: bool,
) -> Result<(), ToolError> {
    let call = &session.batch().entries[index].call;
    if core.mode == ToolsMode::Disabled || !core.policy.now().enabled {
        return Err(DenialReason::Disabled.into());
    }
    if session.iterations_beyond(core.limits.iterations_per_turn) > 0 {
        return Err(ToolError::limit("Max tool iterations reached")
            .hint("tools.max_tool_iterations_per_user_turn sets the limit"));
    }
    if index >= core.limits.calls_per_batch {
        return Err(ToolError::limit(format!(
            "too many tool calls in one message: only the first {} run",
            core.limits.calls_per_batch
        ))
        .hint("send the remaining calls in the next message")
        .hint("tools.max_tool_calls_per_batch sets the limit"));
    }
    if is_duplicate {
        return Err(ToolError::new(ErrorKind::DuplicateToolCallId { id: call.id.clone() }));
    }
    Ok(())
}

/// Puts a plan into its entry; what a refusal has shown of files counts as read.
fn settle(core: &Core, session: &mut Session, index: usize, planned: Planned) {
    let form = ResultForm { limit: core.result_limit(), ..session.form() };
    let entry = &mut session.batch_mut().entries[index];
    let Planned { prepared, facts, disposition } = planned;
    entry.status = match disposition {
        Disposition::Runs => CallStatus::Approved { fingerprint: None },
        Disposition::Asks(request) => CallStatus::Pending(request),
        Disposition::Waits => CallStatus::Waiting,
        Disposition::Refused(error) => {
            let result = reply::refused(form, &entry.call, &error);
            core.take_capacity(result.content.len());
            entry.done(result)
        }
    };
    entry.prepared.put(prepared);
    entry.summary = facts.summary;
    entry.rule = facts.rule;
    entry.risk = facts.risk;
    entry.only_reads = facts.only_reads;
    entry.inspects = facts.inspects;
    entry.is_asked_afterwards = facts.is_asked_afterwards;
    let (shown, files) = facts.preview.map(|preview| (preview.text, preview.files)).unzip();
    entry.shown = shown;
    entry.shown_files = files.unwrap_or_default();
    entry.seen.clone_from(&facts.seen);
    for (path, record) in facts.seen {
        session.freshness_mut().record(path, record);
    }
}

/// Writes down what was planned, before anything runs and once; later, what a person denied.
pub(crate) fn record_batch(core: &Core, session: &mut Session) {
    let batch = session.batch();
    let first = batch.first_to_run().filter(|_| !batch.is_recorded);
    let recorded = if batch.is_recorded {
        let edited = core.recorder.edited(batch);
        edited.and_then(|()| core.recorder.answered(batch, &batch.unrecorded()))
    } else {
        core.recorder.batch_opened(batch, first.map(|at| &batch.entries[at]))
    };
    let form = session.form();
    let batch = session.batch_mut();
    batch.is_recorded = true;
    match recorded {
        Ok(()) => {
            batch.note_recorded();
            if let Some(entry) = first.and_then(|at| batch.entries.get_mut(at)) {
                entry.journaled = Journaled::Start;
            }
        }
        Err(error) => batch.refuse_rest(&error, form),
    }
}

/// Answers the calls that are left as cancelled (FR-EXE-04).
pub(crate) fn cancel_rest(core: &Core, session: &mut Session) -> Pause {
    let form = session.form();
    session.batch_mut().refuse_rest(&ToolError::cancelled(), form);
    leave_answered(core, session);
    record_batch(core, session);
    Pause::Cancelled
}

/// Takes commands to their results at the same time. Each result is recorded when it is there; they are kept in
/// call order, and nothing is run again.
async fn run_together(
    core: &Arc<Core>,
    session: &mut Session,
    indices: &[usize],
    canceller: &Canceller,
) {
    let mut all = Vec::new();
    for index in indices.iter().copied() {
        let CallStatus::Approved { fingerprint } = session.batch().entries[index].status.clone()
        else {
            break;
        };
        match ready(core, session, index, fingerprint, Vec::new()).await {
            Some(ready) => all.push((index, ready)),
            None => break,
        }
    }
    if !begin(core, session, &all) {
        return;
    }
    let (share, turns) = (all.len(), KeepTurns::of(all.len()));
    let cancels: Vec<Cancel> = all.iter().map(|_| Cancel::new()).collect();
    canceller.activate(cancels.clone());
    let mut running = FuturesUnordered::new();
    for (((index, ready), turn), cancel) in all.into_iter().zip(turns).zip(cancels) {
        let ready = Ready { company: CommandCompany::Beside(turn), share, ..ready };
        let span = info_span!("execute", key = %ready.key, tool = ?ready.call.name);
        let executed = execute::execute(core, ready, cancel).instrument(span);
        running.push(async move { (index, executed.await) });
    }
    while let Some((index, executed)) = running.next().await {
        take_over(core, session, index, Vec::new(), executed);
    }
}

/// Runs commands one after another on one layer, and asks a person about all that they changed; the question stands at
/// the last of them.
async fn run_stacked(
    core: &Arc<Core>,
    session: &mut Session,
    indices: &[usize],
    canceller: &Canceller,
) {
    let stack = Arc::new(LayerStack::default());
    let mut ran: Vec<(usize, Executed)> = Vec::new();
    for index in indices.iter().copied().take_while(|_| !canceller.is_requested()) {
        let Some(ready) = ready(core, session, index, None, Vec::new()).await else { break };
        let company = CommandCompany::Stacked(Arc::clone(&stack));
        let ready = [(index, Ready { company, ..ready })];
        if !begin(core, session, &ready) {
            break;
        }
        let [(_, ready)] = ready;
        let cancel = Cancel::new();
        canceller.activate(vec![cancel.clone()]);
        let span = info_span!("execute", key = %ready.key, tool = ?ready.call.name);
        ran.push((index, execute::execute(core, ready, cancel).instrument(span).await));
    }
    let Some((last, _)) = ran.last() else { return };
    let last = *last;
    let entry = &session.batch().entries[last];
    let (key, id) = (entry.key.clone(), entry.call.id.clone());
    let settled = hold::settle_stack(core, (&key, &id), stack).await;
    for (index, executed) in ran {
        let Some(awaited) = settled.awaited() else {
            take_over(core, session, index, Vec::new(), executed);
            continue;
        };
        let is_asked = settled.is_question() && !canceller.is_requested();
        let Executed { result, output, seen, elapsed, .. } = executed;
        let entry = &mut session.batch_mut().entries[index];
        entry.add_time(elapsed);
        let refusal = answer::awaited_refusal(session, index, &awaited, (result, output));
        if !is_asked || !session.offers_grants() {
            let layer = Some(awaited.layer).filter(|layer| !layer.is_empty());
            session.batch_mut().entries[index].set_aside = layer;
            leave_answered(core, session);
            let RefusedCommand { result, output, .. } = refusal;
            finish(core, session, index, FinishedCall { result, output, seen });
            continue;
        }
        let entry = &mut session.batch_mut().entries[index];
        entry.refusal = Some(refusal);
        if index == last {
            entry.status = CallStatus::Pending(Box::new(answer::request(entry, &awaited)));
        }
        core.recorder.forget_spool(&entry.key);
    }
}

/// Gives every call whose command ran on a layer the result that follows from a person's answer about it.
async fn finish_held(
    core: &Arc<Core>,
    session: &mut Session,
    index: usize,
    (held, is_granted): (&HeldAnswer, bool),
) {
    let key = session.batch().entries[index].key.clone();
    let outcome = answer::carry_out(core, &key, held, is_granted).await;
    if let (HeldOutcome::CannotPart(why), Some(chosen)) = (&outcome, &held.chosen) {
        let entry = &mut session.batch_mut().entries[index];
        entry.status = CallStatus::Pending(answer::asked_again(&chosen.question, why));
        return core.layers.ask_again(&held.layer);
    }
    for index in session.batch().on_layer(&held.layer) {
        let Some(refusal) = session.batch_mut().entries[index].refusal.take() else { continue };
        let RefusedCommand { result, output, held: Some(held), .. } = refusal else { continue };
        session.batch_mut().entries[index].set_aside = outcome.undecided().map(str::to_owned);
        let result = outcome.result_of(session, index, (held, result));
        finish(core, session, index, FinishedCall { result, output, seen: Vec::new() });
    }
    leave_answered(core, session);
}

/// Takes one approved entry to its result, or back to the person.
async fn run_entry(core: &Arc<Core>, session: &mut Session, index: usize, canceller: &Canceller) {
    let entry = &mut session.batch_mut().entries[index];
    let CallStatus::Approved { fingerprint } = entry.status.clone() else { return };
    if let Some(RefusedCommand { held: Some(held), is_granted, .. }) = &entry.refusal {
        let (held, is_granted) = (held.clone(), *is_granted);
        return finish_held(core, session, index, (&held, is_granted)).await;
    }
    let grants = match entry.refusal.take() {
        Some(RefusedCommand { result, output, is_granted: false, .. }) => {
            return finish(core, session, index, FinishedCall { result, output, seen: Vec::new() });
        }
        Some(refusal) => refusal.grants,
        None => Vec::new(),
    };
    let Some(ready) = ready(core, session, index, fingerprint, grants).await else { return };
    let grants = ready.grants.clone();
    let ready = [(index, ready)];
    if !begin(core, session, &ready) {
        return;
    }
    let [(_, ready)] = ready;
    let cancel = Cancel::new();
    canceller.activate(vec![cancel.clone()]);
    let span = info_span!("execute", key = %ready.key, tool = ?ready.call.name);
    let executed = execute::execute(core, ready, cancel).instrument(span).await;
    take_over(core, session, index, grants, executed);
}

/// The call as it will run: with the person's approval still valid, and parsed.
async fn ready(
    core: &Arc<Core>,
    session: &mut Session,
    index: usize,
    approved: Option<String>,
    grants: Vec<Grant>,
) -> Option<Ready> {
    let entry = &mut session.batch_mut().entries[index];
    let (call, prepared) = (entry.call.clone(), entry.prepared.take());
    let (prepared, fingerprint) = match approved {
        None => (prepared.map_or_else(|| prepare(core, &call), Ok), None),
        Some(fingerprint) => {
            let files = entry.shown_files.clone();
            let approved = Approved { call: call.clone(), prepared, fingerprint, files };
            let span = info_span!("approve", key = %entry.key);
            match revalidate(core, session.asker(), approved).instrument(span).await {
                Revalidated::Holds { prepared, fingerprint } => (Ok(prepared), fingerprint),
                Revalidated::AsksAgain(planned) | Revalidated::Answered(planned) => {
                    settle(core, session, index, planned);
                    return None;
                }
            }
        }
    };
    let (asker, form) = (session.asker(), session.form());
    let entry = &session.batch().entries[index];
    Some(Ready {
        key: entry.key.clone(),
        shown: entry.shown.clone(),
        inspects: entry.inspects,
        call,
        prepared,
        fingerprint,
        grants,
        asker,
        form,
        company: CommandCompany::None,
        share: 1,
    })
}

/// Records that the calls start, before they do; what cannot be recorded does not run.
fn begin(core: &Core, session: &mut Session, calls: &[(usize, Ready)]) -> bool {
    let entries = &session.batch().entries;
    let start = |(index, ready): &(usize, Ready)| match ready.grants.as_slice() {
        [] if entries[*index].journaled == Journaled::Start => None,
        [] => Some((&entries[*index], ready.fingerprint.clone())),
        grants => Some((&entries[*index], Some(grants::in_words(grants)))),
    };
    let recorded = core.recorder.started(&calls.iter().filter_map(start).collect::<Vec<_>>());
    for (index, _) in calls {
        session.batch_mut().entries[*index].status = CallStatus::Running;
    }
    let form = session.form();
    if let Err(error) = &recorded {
        session.batch_mut().refuse_rest(error, form);
    }
    recorded.is_ok()
}

/// Puts the outcome of a call into its entry: its result, or the question about what it was refused.
fn take_over(
    core: &Arc<Core>,
    session: &mut Session,
    index: usize,
    had: Vec<Grant>,
    executed: Executed,
) {
    let Executed { result, output, seen, refused, awaited, set_aside, elapsed } = executed;
    for (path, record) in &seen {
        session.freshness_mut().record(path.clone(), record.clone());
    }
    let entry = &mut session.batch_mut().entries[index];
    entry.add_time(elapsed);
    entry.set_aside = set_aside;
    if let Some(awaited) = awaited {
        let refusal = answer::awaited_refusal(session, index, &awaited, (result, output));
        if !session.offers_grants() {
            session.batch_mut().entries[index].set_aside = Some(awaited.layer);
            leave_answered(core, session);
            let RefusedCommand { result, output, .. } = refusal;
            return finish(core, session, index, FinishedCall { result, output, seen });
        }
        let entry = &mut session.batch_mut().entries[index];
        entry.status = CallStatus::Pending(Box::new(answer::request(entry, &awaited)));
        entry.refusal = Some(refusal);
        return core.recorder.forget_spool(&entry.key);
    }
    // A set may report a failed command as a result; what ran read-only is offered all the same.
    let is_offered = |grants: &Vec<Grant>| result.is_error() || grants.contains(&Grant::Ordinary);
    let wanted = grants::wanted(had, refused);
    match wanted.filter(|grants| session.offers_grants() && is_offered(grants)) {
        Some(grants) => {
            let refusal = RefusedCommand { result, output, grants, is_granted: false, held: None };
            let entry = &mut session.batch_mut().entries[index];
            entry.status = CallStatus::Pending(Box::new(grants::request(entry, &refusal.grants)));
            entry.refusal = Some(refusal);
            core.recorder.forget_spool(&entry.key);
        }
        None => finish(core, session, index, FinishedCall { result, output, seen }),
    }
}

/// A call that has its result.
struct FinishedCall {
    result: ToolResult,
    output: Option<StoredOutput>,
    seen: Vec<(PathBuf, ReadRecord)>,
}

/// Gives a call its result, which is recorded before anything else runs.
fn finish(core: &Arc<Core>, session: &mut Session, index: usize, finished: FinishedCall) {
    let FinishedCall { result, output, seen } = finished;
    let entry = &mut session.batch_mut().entries[index];
    entry.status = entry.done(result);
    let batch = session.batch();
    let key = batch.entries[index].key.clone();
    // Reads in a row share a write: nothing can have come of one whose result is lost.
    let recorded = if batch.reads_on(index) && output.is_none() {
        core.recorder.finished_later(&batch.entries[index], seen)
    } else {
        core.recorder.finished(batch, &batch.entries[index], seen, output)
    };
    match recorded {
        Ok(()) => {
            core.recorder.forget_spool(&key);
            core.workspace.confiner.forget_record(&key);
            commands_ahead::call_ended(core, session.batch());
            session.batch_mut().entries[index].journaled = Journaled::Result;
        }
        // It has happened, so its result stands; nothing more is run.
        Err(error) => {
            let form = session.form();
            session.batch_mut().refuse_rest(&error, form);
        }
    }
}
