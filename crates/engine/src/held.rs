//! Keeping a layer that was set aside, or some of its names, as a change of a call.
//!
//! Law: what is kept is one change on record, undone and recovered like any other. What is not chosen stays set aside in
//! a layer of its own; a choice that cannot stand alone keeps nothing.

use std::collections::BTreeSet;
use std::path::PathBuf;

use jm_files::layer::{
    KeepError, LayerBounds, LayerConflict, LayerReport, NameJudge, SelectionError,
};
use jm_process::held::HeldLayer;
use jm_system::fault::crash_point;
use jm_tools::NotKept;
use jm_types::CallKey;
use jm_types::text::one_line;

use crate::core::Core;
use crate::keep::keep_layer;

/// Names that a message lists.
const MOST_LISTED: usize = 5;

/// The names of a layer that were kept, and those that were not chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeptNames {
    /// Names that are in the workspace now; empty where all of them are.
    pub kept: Vec<String>,
    /// Names that were not chosen.
    pub left: Vec<String>,
    /// The layer in which those are held; `None` where nothing is left.
    pub rest: Option<String>,
}

impl KeptNames {
    /// The names on both sides; `fate` is what became of those that were not chosen.
    pub(crate) fn in_words(&self, fate: &str) -> String {
        format!("all but {} were {fate} ({})", some(&self.kept), some(&self.left))
    }
}

/// Why nothing was kept.
#[derive(Debug)]
pub(crate) enum KeepFault {
    /// The choice itself: another one can be made.
    Choice(SelectionError),
    /// Nothing can be kept of it now; it stays set aside.
    NotKept(NotKept),
}

/// Keeps a held layer as a change of a call, or the named files of it; the others stay held.
pub(crate) fn keep_names(
    core: &Core,
    key: &CallKey,
    id: &str,
    names: Option<&[String]>,
) -> Result<KeptNames, KeepFault> {
    let no = |why: String| KeepFault::NotKept(not_kept(why, id));
    let place = core.layers.place().ok_or_else(|| no("no state directory".to_owned()))?;
    let whole = core.layers.take_held(id).map_err(|error| no(error.to_string()))?;
    if whole.is_lost() {
        return Err(KeepFault::NotKept(lost(&whole)));
    }
    let (layer, kept) = match names {
        None => (whole, KeptNames::default()),
        Some(names) => choose(core, whole, names)?,
    };
    let report = read(core, &layer).map_err(no)?;
    if let Some(why) = conflicts(&report.plan.conflicts) {
        return Err(KeepFault::NotKept(not_kept(why, layer.id())));
    }
    crash_point("held.chosen");
    let layer = place.reclaim(layer, key).map_err(|error| no(error.to_string()))?;
    crash_point("held.reclaimed");
    match keep_layer(core, key, &layer, &report) {
        Ok(()) => Ok(kept),
        // The record leads back, and recovery needs the layer where it is.
        Err(error @ KeepError::Stuck { .. }) => Err(KeepFault::NotKept(NotKept {
            why: error.to_string(),
            hint: "resolve it with `jm recover`".to_owned(),
            layer: None,
        })),
        Err(error) => {
            let held = place.set_aside(layer);
            let held = held.map_err(|other| no(format!("{error}; {other}")))?;
            Err(KeepFault::NotKept(not_kept(error.to_string(), held.id())))
        }
    }
}

/// Splits the named files from a layer; the layer itself where all of it was named.
fn choose(
    core: &Core,
    whole: HeldLayer,
    names: &[String],
) -> Result<(HeldLayer, KeptNames), KeepFault> {
    let no = |why: String| KeepFault::NotKept(not_kept(why, whole.id()));
    let report = read(core, &whole).map_err(no)?;
    let selection = report.select(whole.layer(), names).map_err(KeepFault::Choice)?;
    if let Some(why) = conflicts(&report.conflicts_in(&selection)) {
        return Err(no(why));
    }
    if selection.is_whole() {
        return Ok((whole, KeptNames::default()));
    }
    let place = core.layers.place().ok_or_else(|| no("no state directory".to_owned()))?;
    let part = place.held().split(&whole, &report, &selection);
    let part = part.map_err(|error| no(error.to_string()))?;
    let rest = Some(whole.id().to_owned());
    let (kept, left) = (shown(selection.chosen()), shown(selection.left()));
    Ok((part, KeptNames { kept, left, rest }))
}

fn read(core: &Core, layer: &HeldLayer) -> Result<LayerReport, String> {
    let sandbox = &core.workspace.sandbox;
    let known = core.workspace.confiner.protected_paths(sandbox);
    let judge = NameJudge::new(sandbox.working_root().path(), known).with_upper(layer.upper());
    let report = layer.layer().report(&judge, LayerBounds::default());
    report.map_err(|error| format!("it cannot be read: {error}"))
}

fn lost(layer: &HeldLayer) -> NotKept {
    let why = "the machine was restarted before these changes were on disk; they may be incomplete";
    let hint =
        format!("inspect them in {}, then `jm held drop {}`", layer.upper().display(), layer.id());
    NotKept { why: why.to_owned(), hint, layer: Some(layer.id().to_owned()) }
}

/// The hint that says where the changes of a command are.
pub(crate) fn set_aside_hint(id: &str) -> String {
    format!(
        "its changes are set aside: `jm held diff {id}`, `jm held keep {id}` or `jm held drop {id}`"
    )
}

/// A layer that is not kept, and where it is.
pub(crate) fn not_kept(why: impl Into<String>, id: &str) -> NotKept {
    NotKept { why: why.into(), hint: set_aside_hint(id), layer: Some(id.to_owned()) }
}

/// The paths that somebody else changed meanwhile, as the reason why nothing is kept.
pub(crate) fn conflicts(found: &[LayerConflict]) -> Option<String> {
    let path = |one: &LayerConflict| one_line(&one.path.to_string_lossy());
    let paths: Vec<String> =
        found.iter().map(|one| format!("{}: {}", path(one), one.why)).collect();
    (!paths.is_empty())
        .then(|| format!("another program changed the same files ({})", some(&paths)))
}

fn shown(paths: &BTreeSet<PathBuf>) -> Vec<String> {
    let name = |path: &PathBuf| match path.to_string_lossy() {
        root if root.is_empty() => ".".to_owned(),
        path => one_line(&path),
    };
    paths.iter().map(name).collect()
}

/// The first of many, and how many more there are.
pub(crate) fn some(all: &[String]) -> String {
    let first = all.iter().take(MOST_LISTED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match all.len().saturating_sub(MOST_LISTED) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}
