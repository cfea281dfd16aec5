//! The answer of a person about what a held command changed: kept, or left aside.
//!
//! Law: the layer is set aside before anybody is asked, so whatever happens meanwhile nothing of it is in the
//! workspace and nothing of it is lost. It is kept only by a person's word, and only if it still fits.

use std::sync::Arc;

use jm_files::layer::{LayerBounds, NameJudge};
use jm_store::StoredOutput;
use jm_system::worker::off_thread;
use jm_tools::NotKept;
use jm_types::{CallKey, CallQuestion, RiskLevel, ToolResult};

use crate::batch::{CallEntry, HeldAnswer, RefusedCommand};
use crate::core::Core;
use crate::hold::{AwaitedLayer, conflicts};
use crate::keep::keep_layer;
use crate::reply;
use crate::session::Session;

const RULE: &str = "the command changed files that other programs run later: y keeps all its changes, n leaves them set aside";

/// The question about a layer.
pub(crate) fn request(entry: &CallEntry, awaited: &AwaitedLayer) -> CallQuestion {
    // It ran with its arguments, so these cannot be edited.
    CallQuestion {
        reason: RULE.to_owned(),
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
    let held = HeldAnswer { layer: awaited.layer.clone(), result };
    let result = reply::refused(session.form(), &entry.call, &error);
    RefusedCommand { result, output, grants: Vec::new(), is_granted: false, held: Some(held) }
}

/// Keeps a layer by a person's word; the result says what became of it.
pub(crate) async fn keep_awaited(
    core: &Arc<Core>,
    session: &Session,
    index: usize,
    held: HeldAnswer,
    left: ToolResult,
) -> ToolResult {
    let entry = &session.batch().entries[index];
    let (own, key, layer) = (Arc::clone(core), entry.key.clone(), held.layer.clone());
    let approved = core.recorder.approved(&key, format!("keep {layer}"));
    if approved.is_err() {
        return left;
    }
    let kept = off_thread(move || keep(&own, &key, &layer)).await;
    match kept.unwrap_or_else(|_| Err(not_kept("it could not be kept", &held.layer))) {
        Ok(()) => held.result,
        Err(why) => {
            let error = why.failure("it ended", held.result.content);
            reply::refused(session.form(), &entry.call, &error)
        }
    }
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
