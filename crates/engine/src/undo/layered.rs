//! Taking back a command that was kept from a layer, and putting it in force again: names are exchanged with the old
//! versions in the layer's directory.
//!
//! Law: what somebody changed since is left alone, and said. The record is durable before the first exchange; all
//! steps that it names are done, or none.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use jm_files::layer::{ChangedNode, LayerStep, LayerWork, StepState};
use jm_process::held::HeldLayer;
use jm_store::{
    CallView, Entry as Append, FileState, LayerChange, LayerName, LayerRecord, Record, Store,
};
use jm_types::{CallKey, ToolError};

use super::by_products::is_by_product;
use super::own_changes::{OwnChanges, PlannedExchange, is_named, left_by};
use super::report::UndoReport;
use crate::core::Core;
use crate::files::digest_at;
use crate::layer_diff::{diff_of, versions_of};
use crate::layers::{packed, state_on, steps_of};
use crate::own_call::UNDO;
use crate::recovery::converge::Guard;

/// The way back of one layer.
struct WayBack {
    layer: HeldLayer,
    steps: Vec<LayerStep>,
    /// The nodes at the names.
    found: Found,
    record: LayerRecord,
    text: Vec<u8>,
}

/// The ways back of all layers of a call, the last one first.
pub(super) struct LayerPlan {
    ways: Vec<WayBack>,
    /// Nothing is left that could be tried again.
    pub(super) is_complete: bool,
}

const CHANGED: &str = "changed since; overwrite it with --force";
/// There is no other version to put in its place.
const EDITED: &str = "changed since";

impl LayerPlan {
    /// Looks at what stands in the workspace; changes nothing. `ours` was put there a moment ago, by an earlier
    /// part of the same undo.
    pub(super) fn new(
        (core, store): (&Core, &Store),
        (call, ours): (&CallView, &[PathBuf]),
        guard: Guard,
        report: &mut UndoReport,
    ) -> Self {
        let mut plan = Self { ways: Vec::new(), is_complete: true };
        let mut planned: Vec<PlannedExchange> = Vec::new();
        for record in call.effects().layers.iter().rev() {
            let opened = open(core, store, record);
            let (layer, steps) = match opened {
                Ok(opened) => opened,
                // What was let go does not come back, so nothing waits for it.
                Err(why) => {
                    report.skipped.push((record.root.clone(), why));
                    continue;
                }
            };
            let ground = (core, store);
            let mut found = Found::new(ground, (&layer, &steps, record), &planned);
            let mut ours = ours.to_vec();
            ours.extend(own_work(core, store, found.left(&steps, record)));
            let is_forced = guard == Guard::Force;
            let is_ours = |path: &Path| {
                // What stands there now goes with the change of another command of the same call.
                let is_decided = planned.iter().any(|other| other.decides_about(path));
                !is_decided && (is_forced || ours.contains(&record.root.join(path)))
            };
            found.changed.retain(|path| !is_ours(path));
            match way_back((layer, found), &steps, record, &is_ours, report) {
                Ok((way, is_whole)) => {
                    plan.is_complete &= is_whole;
                    planned.extend(way.as_ref().map(WayBack::planned));
                    plan.ways.extend(way);
                }
                Err(why) => {
                    report.skipped.push((record.root.clone(), why));
                    plan.is_complete = false;
                }
            }
        }
        plan
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ways.is_empty()
    }

    /// Records the way back and goes it.
    pub(super) fn take(
        &self,
        core: &Core,
        (call, of): (&CallKey, Vec<CallKey>),
        report: &mut UndoReport,
    ) -> Result<(), ToolError> {
        let mut records = vec![Record::Undid { call: call.clone(), of }];
        let layered =
            |way: &WayBack| Record::Layered { call: call.clone(), layer: way.record.clone() };
        records.extend(self.ways.iter().map(layered));
        let blobs = self.ways.iter().map(|way| way.text.as_slice()).collect();
        core.recorder.append(&Append { records, blobs, ..Append::default() })?;
        for (number, way) in self.ways.iter().enumerate() {
            if let Err(error) = way.go() {
                self.go_back(core, call, number);
                return Err(ToolError::failed(UNDO, error));
            }
        }
        self.tell(report);
        Ok(())
    }

    /// Names what it restores and removes.
    pub(super) fn tell(&self, report: &mut UndoReport) {
        self.ways.iter().for_each(|way| way.tell(report));
    }

    /// The changes as a diff, from what is there to what would be.
    pub(super) fn diff(&self) -> String {
        let of_way = |way: &WayBack| {
            let mut record = way.record.clone();
            record.names.retain(|name| !way.found.reached.contains(Path::new(&name.path)));
            diff_of(&versions_of(way.layer.layer(), &record, &way.steps))
        };
        self.ways.iter().map(of_way).collect()
    }

    /// Undoes the layers that went before one of them failed, and says that none of it ever was.
    fn go_back(&self, core: &Core, call: &CallKey, failed: usize) {
        for way in self.ways[..failed].iter().rev() {
            let back = way.layer.layer().converge(&way.steps, state_on(way.record.to.other()));
            jm_types::ignore_error(back, "the record leads recovery to one side");
        }
        let withdrawn = self.ways.iter().map(|_| Record::Withdrawn { call: call.clone() });
        jm_types::ignore_error(
            core.recorder.records(withdrawn.collect()),
            "recovery finds every step undone and says the same",
        );
    }
}

impl WayBack {
    fn planned(&self) -> PlannedExchange {
        let LayerRecord { layer, to, .. } = &self.record;
        PlannedExchange { layer: layer.clone(), to: *to, steps: self.steps.clone() }
    }

    fn go(&self) -> Result<(), String> {
        let layer = self.layer.layer();
        let theirs: Vec<PathBuf> = self.found.theirs().cloned().collect();
        if !theirs.is_empty() {
            layer.leave_alone(&theirs).map_err(|error| error.to_string())?;
        }
        let goes = |step: &&LayerStep| !self.found.edited.contains(&step.path);
        let steps: Vec<LayerStep> = self.steps.iter().filter(goes).cloned().collect();
        layer.converge(&steps, state_on(self.record.to)).map_err(|error| error.to_string())
    }

    /// Tells of the names that are exchanged, not of those that were before.
    fn tell(&self, report: &mut UndoReport) {
        let is_exchanged =
            |step: &&LayerStep| is_named(step) && !self.found.reached.contains(&step.path);
        for step in self.steps.iter().filter(is_exchanged) {
            let path = self.record.root.join(&step.path);
            match left_by(step, self.record.to) {
                None => report.removed.push(path),
                Some(_) => report.restored.push(path),
            }
        }
    }
}

/// The nodes at the names of a layer's steps, as a plan finds them.
#[derive(Default)]
struct Found {
    /// Names that somebody else changed since the last exchange.
    changed: Vec<PathBuf>,
    /// Names at which nothing can be exchanged, and why.
    barred: Vec<(PathBuf, String)>,
    /// Names that are as wanted already.
    reached: HashSet<PathBuf>,
    /// Names that somebody changed and of which there is no other version: they were exchanged before, or are other
    /// directories with attributes of their own.
    edited: Vec<PathBuf>,
    /// Directories that are others by now.
    foreign: HashSet<PathBuf>,
}

impl Found {
    fn new(
        ground: (&Core, &Store),
        (layer, steps, record): (&HeldLayer, &[LayerStep], &LayerRecord),
        planned: &[PlannedExchange],
    ) -> Self {
        let layer = layer.layer();
        let (side, goal) = (state_on(record.to), state_on(record.to.other()));
        let own = OnceCell::new();
        let is_own = |node: ChangedNode<'_>| {
            own.get_or_init(|| OwnChanges::of(ground, (record, steps), planned)).explain(node)
        };
        let is_changed =
            |step: &LayerStep, on| layer.is_changed_by_others(step, on, &is_own).unwrap_or(true);
        let mut found = Self::default();
        // What comes or goes with the change of another command of the same call is looked at there.
        let is_seen =
            |step: &&LayerStep| !planned.iter().any(|other| other.decides_about(&step.path));
        for step in steps.iter().filter(is_seen) {
            let path = step.path.clone();
            if step.work == LayerWork::Attributes {
                if layer.state(step).is_ok_and(|state| state == StepState::Foreign) {
                    found.edited.extend(step.sets_attributes().then(|| path.clone()));
                    found.foreign.insert(path);
                } else if is_changed(step, side) {
                    found.changed.push(path);
                }
            } else if layer.state(step).is_ok_and(|state| state == goal) {
                if is_changed(step, goal) {
                    found.edited.push(path.clone());
                }
                found.reached.insert(path);
            } else if let Some(why) = layer.why_barred(&path) {
                found.barred.push((path, why));
            } else if is_changed(step, side) {
                found.changed.push(path);
            }
        }
        found
    }

    /// The names that were changed, with the sizes of the files that the layer left there.
    fn left(&self, steps: &[LayerStep], record: &LayerRecord) -> Vec<(PathBuf, Option<u64>)> {
        let is_changed = |step: &&LayerStep| self.changed.contains(&step.path);
        let left = |step: &LayerStep| {
            let size = left_by(step, record.to).map(|node| node.size);
            (record.root.join(&step.path), size)
        };
        steps.iter().filter(is_changed).map(left).collect()
    }

    /// Names that the exchange leaves alone.
    fn theirs(&self) -> impl Iterator<Item = &PathBuf> {
        self.waiting().chain(&self.edited)
    }

    /// Those of them that can be tried again.
    fn waiting(&self) -> impl Iterator<Item = &PathBuf> {
        self.changed.iter().chain(self.barred.iter().map(|(path, _)| path))
    }

    fn tell(&self, root: &Path, report: &mut UndoReport) {
        let mut left = |path: &Path, why: &str| {
            if !is_by_product(path) {
                report.skipped.push((root.join(path), why.to_owned()));
            }
        };
        self.changed.iter().for_each(|path| left(path, CHANGED));
        self.barred.iter().for_each(|(path, why)| left(path, why));
        self.edited.iter().for_each(|path| left(path, EDITED));
    }
}

/// Of paths that were changed since those that this session wrote last, such as with the undo of a write: it is another
/// file then, perhaps with the number of the one before, and not another content. One of another size than the layer left
/// is none of them: somebody had changed it before the write.
fn own_work(core: &Core, store: &Store, mut paths: Vec<(PathBuf, Option<u64>)>) -> Vec<PathBuf> {
    let Some(journal) = core.recorder.journal().filter(|_| !paths.is_empty()) else {
        return Vec::new();
    };
    let calls = store.calls(journal.session()).unwrap_or_default();
    let mut last: HashMap<PathBuf, Option<FileState>> = HashMap::new();
    for effects in calls.iter().rev().map(CallView::effects) {
        for effect in effects.files.into_iter().rev() {
            last.entry(effect.path).or_insert(Some(effect.after));
        }
        let layered = effects.layers.iter().flat_map(|layer| layer.paths().unwrap_or_default());
        for path in layered {
            last.entry(path).or_insert(None);
        }
    }
    paths.retain(|(path, left)| match last.get(path) {
        Some(Some(FileState::File { sha256, size, .. })) => {
            let is_size = size.is_none() || size == left;
            is_size
                && digest_at(&core.workspace.sandbox, path).is_ok_and(|now| now == Some(*sha256))
        }
        _ => false,
    });
    paths.into_iter().map(|(path, _)| path).collect()
}

fn open(
    core: &Core,
    store: &Store,
    record: &LayerRecord,
) -> Result<(HeldLayer, Vec<LayerStep>), String> {
    let place = core.layers.place().ok_or("no state directory")?;
    let gone = |error: String| format!("the earlier versions are no longer kept: {error}");
    let steps = steps_of(store, record).map_err(|error| gone(error.to_string()))?;
    let layer = place.take(&record.layer).map_err(|error| gone(error.to_string()))?;
    Ok((layer, steps))
}

/// The way back of one layer, and whether it is all of it.
fn way_back(
    (layer, found): (HeldLayer, Found),
    steps: &[LayerStep],
    record: &LayerRecord,
    is_ours: &dyn Fn(&Path) -> bool,
    report: &mut UndoReport,
) -> Result<(Option<WayBack>, bool), String> {
    let waiting: HashSet<&Path> = found.waiting().map(PathBuf::as_path).collect();
    let is_barred = |step: &LayerStep| waiting.contains(&*step.path);
    let is_wanted = |step: &LayerStep| is_ours(&step.path) && !is_barred(step);
    let own = layer.layer().as_it_stands(steps, state_on(record.to), &is_wanted);
    let own = own.map_err(|error| error.to_string())?;
    found.tell(&record.root, report);
    let is_left_alone = |step: &LayerStep| match step.work {
        // A directory keeps its attributes where something in it stays.
        LayerWork::Attributes => {
            let is_theirs = found.theirs().any(|path| path.starts_with(&step.path));
            is_theirs || found.foreign.contains(&step.path)
        }
        LayerWork::Create | LayerWork::Replace | LayerWork::Delete => is_barred(step),
    };
    let own: Vec<LayerStep> = own.into_iter().filter(|step| !is_left_alone(step)).collect();
    let is_exchanged = |step: &&LayerStep| is_named(step) && !found.reached.contains(&step.path);
    // Somebody made by-products again, and will once more.
    let is_whole = waiting.iter().all(|path| is_by_product(path));
    if !waiting.is_empty() && !own.iter().any(|step| is_exchanged(&step)) {
        return Ok((None, false));
    }
    let is_theirs = |name: &&LayerName| waiting.contains(Path::new(&name.path));
    let (digest, text) = packed(&own).map_err(|error| error.to_string())?;
    let record = LayerRecord {
        to: record.to.other(),
        steps: digest,
        names: record.names.iter().filter(|name| !is_theirs(name)).map(turned).collect(),
        ..record.clone()
    };
    Ok((Some(WayBack { layer, steps: own, found, record, text }), is_whole))
}

/// The name as the way back changes it.
fn turned(name: &LayerName) -> LayerName {
    let change = match name.change {
        LayerChange::Created => LayerChange::Deleted,
        LayerChange::Changed => LayerChange::Changed,
        LayerChange::Deleted => LayerChange::Created,
    };
    LayerName { path: name.path.clone(), change }
}
