//! The answer of a person about what a held command changed: kept, or left aside.
//!
//! Law: the layer is set aside before anybody is asked, so whatever happens meanwhile nothing of it is in the
//! workspace and nothing of it is lost. It is kept only by a person's word, and only if it still fits.

use std::sync::Arc;

use jm_files::layer::{LayerBounds, NameJudge};
use jm_store::StoredOutput;
use jm_system::worker::off_thread;
use jm_tools::NotKept;
use jm_types::text::one_line;
use jm_types::{CallKey, CallQuestion, RiskLevel, ToolResult};

use crate::batch::{CallEntry, HeldAnswer, RefusedCommand};
use crate::core::Core;
use crate::hold::{AwaitedLayer, conflicts};
use crate::keep::keep_layer;
use crate::reply;
use crate::session::Session;

const EFFECTS_RULE: &str = "the command ended; none of its changes are in the workspace yet: y keeps all of them, n drops them";
const RULE: &str = "the command changed files that other programs run later: y keeps all its changes, n leaves them set aside";

/// The question about a layer.
pub(crate) fn request(entry: &CallEntry, awaited: &AwaitedLayer) -> CallQuestion {
    // It ran with its arguments, so these cannot be edited.
    let rule = if entry.is_asked_afterwards { EFFECTS_RULE } else { RULE };
    CallQuestion {
        reason: rule.to_owned(),
        needs_person: true,
        warnings: awaited.warnings.clone(),
        preview: awaited.preview.clone(),
        arguments: entry.call.arguments.clone(),
        fingerprint: format!("keep {}", awaited.layer),
        ..CallQuestion::new(&entry.call.id, &entry.call.name, &entry.summary, RiskLevel::High)
    }
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
    let held = HeldAnswer { layer, result, is_dropped, reason: None };
    let result = reply::refused(session.form(), &entry.call, &error);
    RefusedCommand { result, output, grants: Vec::new(), is_granted: false, held: Some(held) }
}

/// The outcome of a person's answer about a layer.
#[derive(Debug)]
pub(crate) enum HeldOutcome {
    Kept,
    /// It stays set aside, as it was told.
    LeftAside,
    NotKept(NotKept),
}

impl HeldOutcome {
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
            Self::LeftAside => left,
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
    let (own, key, layer) = (Arc::clone(core), key.clone(), held.layer.clone());
    if !is_granted && held.is_dropped {
        return HeldOutcome::NotKept(dropped(core, held));
    }
    if !is_granted || core.recorder.approved(&key, format!("keep {layer}")).is_err() {
        return HeldOutcome::LeftAside;
    }
    let kept = off_thread(move || keep(&own, &key, &layer)).await;
    match kept.unwrap_or_else(|_| Err(not_kept("it could not be kept", &held.layer))) {
        Ok(()) => HeldOutcome::Kept,
        Err(why) => HeldOutcome::NotKept(why),
    }
}

/// Drops a layer, and says so with the person's reason.
fn dropped(core: &Core, held: &HeldAnswer) -> NotKept {
    let place = core.layers.place();
    let forgotten = place.map(|place| place.held().forget(&held.layer));
    if let Some(Err(error)) = forgotten {
        return not_kept(format!("dropped by the user; {error}"), &held.layer);
    }
    let why = match &held.reason {
        Some(reason) => format!("dropped by the user: {}", one_line(reason)),
        None => "dropped by the user".to_owned(),
    };
    NotKept { why, hint: "the workspace is unchanged".to_owned() }
}

fn keep(core: &Core, key: &CallKey, id: &str) -> Result<(), NotKept> {
    let place = core.layers.place().ok_or_else(|| not_kept("no state directory", id))?;
    let layer = place.reclaim(id, key).map_err(|error| not_kept(error.to_string(), id))?;
    let sandbox = &core.workspace.sandbox;
    let known = core
        .workspace
        .confiner
        .protected_names(sandbox)
        .into_iter()
        .map(|(path, _)| path)
        .collect();
    let judge = NameJudge::new(sandbox.working_root().path(), known).with_upper(layer.upper());
    let kept = match layer.layer().report(&judge, LayerBounds::default()) {
        Err(error) => Err(format!("it cannot be read: {error}")),
        Ok(report) => match conflicts(&report) {
            Some(why) => Err(why),
            None => keep_layer(core, key, &layer, &report).map_err(|error| error.to_string()),
        },
    };
    kept.map_err(|why| match place.set_aside(layer) {
        Ok(id) => not_kept(why, &id),
        Err(error) => not_kept(format!("{why}; {error}"), id),
    })
}

fn not_kept(why: impl Into<String>, id: &str) -> NotKept {
    let hint = format!(
        "its changes are set aside: `jm held diff {id}`, `jm held keep {id}` or `jm held drop {id}`"
    );
    NotKept { why: why.into(), hint }
}
