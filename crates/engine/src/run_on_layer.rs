//! Calls whose commands share a layer: run one after another, asked about once, and answered together.
//!
//! Law: every call that ran on the layer has the result that follows from what became of it.

use std::sync::Arc;

use jm_types::Cancel;
use tracing::{Instrument, info_span};

use crate::answer::{self, HeldOutcome};
use crate::batch::{CallStatus, HeldAnswer, RefusedCommand};
use crate::canceller::Canceller;
use crate::core::Core;
use crate::execute::{self, Executed, Ready};
use crate::hold::{self, AwaitedLayer, CommandCompany, SettledStack};
use crate::layer_stack::LayerStack;
use crate::run::{FinishedCall, begin, finish, milliseconds, ready, take_over};
use crate::session::Session;

/// Runs commands one after another on one layer, and asks a person about all that they changed; the question stands at
/// the last of them.
pub(crate) async fn run_stacked(
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
        let awaited = match &settled {
            SettledStack::Nothing => {
                take_over(core, session, index, Vec::new(), executed);
                continue;
            }
            SettledStack::NotKept(not_kept) => AwaitedLayer::decided(not_kept.clone()),
            SettledStack::Asks(awaited) => awaited.clone(),
        };
        let is_asked = matches!(settled, SettledStack::Asks(_)) && !canceller.is_requested();
        let Executed { result, output, seen, elapsed, .. } = executed;
        let entry = &mut session.batch_mut().entries[index];
        entry.duration_ms += milliseconds(elapsed);
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
pub(crate) async fn finish_held(
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

/// Leaves the layers whose questions are answered, or asked by nobody, to whoever decides about them.
pub(crate) fn leave_answered(core: &Core, session: &Session) {
    core.layers.leave_held(|id| !session.batch().on_layer(id).is_empty());
}

/// Finishes the calls that wait for an answer about their layer, which nobody gives any more.
pub(crate) fn finish_left_on_layers(core: &Arc<Core>, session: &mut Session) {
    for index in session.batch().left_on_layers() {
        let entry = &mut session.batch_mut().entries[index];
        let Some(refusal) = entry.leave_refusal() else { continue };
        let RefusedCommand { result, output, .. } = refusal;
        finish(core, session, index, FinishedCall { result, output, seen: Vec::new() });
    }
}
