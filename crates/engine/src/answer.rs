//! The answer of a person about what a held command changed: kept, or left aside.
//!
//! Law: the layer is set aside before anybody is asked, so whatever happens meanwhile nothing of it is in the
//! workspace and nothing of it is lost. It is kept only by a person's word, and only if it still fits.

use std::sync::Arc;

use jm_store::StoredOutput;
use jm_system::worker::off_thread;
use jm_tools::NotKept;
use jm_types::text::one_line;
use jm_types::{CallKey, CallQuestion, RiskLevel, ToolResult};

use crate::batch::{CallEntry, HeldAnswer, RefusedCommand};
use crate::core::Core;
use crate::held::{KeepFault, KeptNames, keep_names, not_kept, set_aside_hint};
use crate::hold::AwaitedLayer;
use crate::reply;
use crate::session::Session;

const EFFECTS_RULE: &str = "the command ended; none of its changes are in the workspace yet: y keeps all of them, k some, n drops them";
const RULE: &str = "the command changed files that other programs run later: y keeps all its changes, k some, n leaves them set aside";

const NOT_POSSIBLE: &str = "not kept: ";

/// The question about a layer.
pub(crate) fn request(entry: &CallEntry, awaited: &AwaitedLayer) -> CallQuestion {
    // It ran with its arguments, so these cannot be edited.
    let rule = if entry.is_asked_afterwards { EFFECTS_RULE } else { RULE };
    CallQuestion {
        reason: rule.to_owned(),
        needs_person: true,
        warnings: awaited.warnings.clone(),
        preview: awaited.preview.clone(),
        changes: awaited.changes.clone(),
        arguments: entry.call.arguments.clone(),
        fingerprint: format!("keep {}", awaited.layer),
        ..CallQuestion::new(&entry.call.id, &entry.call.name, &entry.summary, RiskLevel::High)
    }
}

/// The question once more, after a choice of files that cannot be kept without others.
pub(crate) fn asked_again(question: &CallQuestion, why: &str) -> Box<CallQuestion> {
    let mut question = question.clone();
    question.warnings.retain(|warning| !warning.starts_with(NOT_POSSIBLE));
    question.warnings.insert(0, format!("{NOT_POSSIBLE}{why}"));
    Box::new(question)
}

/// The call with the result that stands without a person's word.
pub(crate) fn awaited_refusal(
    session: &Session,
    index: usize,
    awaited: &AwaitedLayer,
    (result, output): (ToolResult, Option<StoredOutput>),
) -> RefusedCommand {
    let entry = &session.batch().entries[index];
    let error = awaited.not_kept.clone().failure("it ended", result.content.clone());
    let (layer, is_dropped) = (awaited.layer.clone(), entry.is_asked_afterwards);
    let held = HeldAnswer { layer, result, is_dropped, reason: None, chosen: None };
    let result = reply::refused(session.form(), &entry.call, &error);
    RefusedCommand { result, output, grants: Vec::new(), is_granted: false, held: Some(held) }
}

/// The outcome of a person's answer about a layer.
#[derive(Debug)]
pub(crate) enum HeldOutcome {
    Kept,
    /// It stays set aside, as it was told.
    LeftAside,
    /// All of it, or what the person did not choose, is not in the workspace.
    NotKept(NotKept),
    /// The chosen files cannot be kept without others: another answer is needed.
    CannotPart(String),
}

impl HeldOutcome {
    /// The layer that waits for another decision, where this one could not be carried out.
    pub(crate) fn undecided(&self) -> Option<&str> {
        match self {
            Self::NotKept(not_kept) => not_kept.layer.as_deref(),
            Self::Kept | Self::LeftAside | Self::CannotPart(_) => None,
        }
    }

    /// The result of a call whose command ran on the layer.
    pub(crate) fn result_of(
        &self,
        session: &Session,
        index: usize,
        (held, left): (HeldAnswer, ToolResult),
    ) -> ToolResult {
        let call = &session.batch().entries[index].call;
        match self {
            Self::Kept => held.result,
            Self::LeftAside | Self::CannotPart(_) => left,
            Self::NotKept(why) => {
                let error = why.clone().failure("it ended", held.result.content);
                reply::refused(session.form(), call, &error)
            }
        }
    }
}

/// Carries out a person's answer about a layer: keeps it as a change of the call at which they were asked, drops it, or
/// leaves it.
pub(crate) async fn carry_out(
    core: &Arc<Core>,
    key: &CallKey,
    held: &HeldAnswer,
    is_granted: bool,
) -> HeldOutcome {
    if !is_granted && held.is_dropped {
        return HeldOutcome::NotKept(dropped(core, held));
    }
    if !is_granted || core.recorder.approved(key, format!("keep {}", held.layer)).is_err() {
        return HeldOutcome::LeftAside;
    }
    let (own, key, held) = (Arc::clone(core), key.clone(), held.clone());
    let layer = held.layer.clone();
    let chosen = held.chosen.as_ref().map(|chosen| chosen.paths.clone());
    let kept = off_thread(move || keep_names(&own, &key, &layer, chosen.as_deref())).await;
    let failed = || Err(KeepFault::NotKept(not_kept("it could not be kept", &held.layer)));
    match kept.unwrap_or_else(|_| failed()) {
        Ok(KeptNames { rest: None, .. }) => HeldOutcome::Kept,
        Ok(kept) => HeldOutcome::NotKept(kept_in_part(core, &kept, &held)),
        Err(KeepFault::NotKept(why)) => HeldOutcome::NotKept(why),
        Err(KeepFault::Choice(why)) => HeldOutcome::CannotPart(why.to_string()),
    }
}

/// Leaves the layers whose questions are answered, or asked by nobody, to whoever decides about them.
pub(crate) fn leave_answered(core: &Core, session: &Session) {
    core.layers.leave_held(|id| !session.batch().on_layer(id).is_empty());
}

/// Drops the files that were not chosen, or leaves them aside, and names both sides.
fn kept_in_part(core: &Core, kept: &KeptNames, held: &HeldAnswer) -> NotKept {
    let rest = kept.rest.as_deref().unwrap_or_default();
    if !held.is_dropped {
        let why = kept.in_words("set aside by the user");
        return NotKept { why, hint: set_aside_hint(rest), layer: None };
    }
    match core.layers.forget_held(rest) {
        Err(error) => not_kept(format!("{}; {error}", kept.in_words("dropped by the user")), rest),
        Ok(()) => {
            let hint = "the kept files are in the workspace, the others are as before".to_owned();
            NotKept { why: kept.in_words("dropped by the user"), hint, layer: None }
        }
    }
}

/// Drops a layer, and says so with the person's reason.
fn dropped(core: &Core, held: &HeldAnswer) -> NotKept {
    if let Err(error) = core.layers.forget_held(&held.layer) {
        return not_kept(format!("dropped by the user; {error}"), &held.layer);
    }
    let why = match &held.reason {
        Some(reason) => format!("dropped by the user: {}", one_line(reason)),
        None => "dropped by the user".to_owned(),
    };
    NotKept { why, hint: "the workspace is unchanged".to_owned(), layer: None }
}
