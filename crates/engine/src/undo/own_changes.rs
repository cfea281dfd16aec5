//! Changes of the workspace that Journeyman made itself, by keeping, undoing and redoing other layers.
//!
//! Law: a node is ours only if it is the very one that an exchange left, with its inode, size and time, untouched since
//! the note of that exchange, and if it is the one that stood there when the layer in question was exchanged. A person's
//! edit has another time.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use jm_files::layer::{ChangedNode, LayerStep, LayerWork, NodeFacts, NodeKind, NodeTime};
use jm_store::{CallView, LayerRecord, LayerSide, Store};

use crate::core::Core;
use crate::layers::steps_of;

/// An exchange that is planned together with the one in question, and goes before it.
pub(super) struct PlannedExchange {
    pub(super) layer: String,
    pub(super) to: LayerSide,
    pub(super) steps: Vec<LayerStep>,
}

impl PlannedExchange {
    /// Tells whether a path lies in something that it brings or takes away: that is looked at there.
    fn is_around(&self, path: &Path) -> bool {
        let mut named = self.steps.iter().filter(is_named);
        named.any(|step| path != step.path && path.starts_with(&step.path))
    }

    /// Tells whether the node at a path is only known when this has gone.
    pub(super) fn decides_about(&self, path: &Path) -> bool {
        self.is_around(path) || self.steps.iter().filter(is_named).any(|step| step.path == path)
    }

    fn takes_away(&self, path: &Path) -> bool {
        let mut named = self.steps.iter().filter(is_named);
        named.any(|step| path == step.path && left_by(step, self.to).is_none())
    }
}

/// The last exchange of another layer.
struct OwnExchange {
    /// Later than the exchange; `None` for one that is only planned.
    settled: Option<NodeTime>,
    /// The nodes that it left.
    left: HashMap<PathBuf, NodeFacts>,
    /// Its steps were known before the layer in question was exchanged.
    is_older: bool,
    /// It is on the side where it was then.
    is_as_then: bool,
}

impl OwnExchange {
    fn new(
        steps: &[LayerStep],
        (settled, to): (Option<NodeTime>, LayerSide),
        history: &History<'_>,
    ) -> Self {
        let left = |step: &LayerStep| Some((step.path.clone(), left_by(step, to)?.clone()));
        Self {
            settled,
            left: steps.iter().filter_map(left).collect(),
            is_older: history.then.is_some(),
            is_as_then: history.then.unwrap_or(LayerSide::TakenBack) == to,
        }
    }

    /// Tells whether the exchange was the last to touch a node.
    fn touched_last(&self, node: &NodeFacts) -> bool {
        self.settled.is_none_or(|settled| node.changed < settled)
    }
}

/// The records of one layer.
struct History<'a> {
    last: &'a LayerRecord,
    /// The side at the last exchange of the layer in question; `None` when it was not known then.
    then: Option<LayerSide>,
}

/// All exchanges of other layers that may have touched what a layer changed, in the order of their commands.
pub(super) struct OwnChanges<'a> {
    exchanges: Vec<OwnExchange>,
    planned: &'a [PlannedExchange],
    writes: OwnWrites,
}

impl<'a> OwnChanges<'a> {
    /// Reads what the journal knows of layers of the same root.
    pub(super) fn of(
        (core, store): (&Core, &Store),
        (record, steps): (&LayerRecord, &[LayerStep]),
        planned: &'a [PlannedExchange],
    ) -> Self {
        let mut exchanges = Vec::new();
        let views = store.layered().unwrap_or_default();
        let records: Vec<&LayerRecord> = views.iter().map(|view| &view.layer).collect();
        let roots: HashSet<&Path> = steps.iter().filter(is_named).map(|step| &*step.path).collect();
        for history in histories(&records, record) {
            if let Some(plan) = planned.iter().find(|plan| plan.layer == history.last.layer) {
                exchanges.push(OwnExchange::new(&plan.steps, (None, plan.to), &history));
            } else if may_touch(history.last, &roots) {
                exchanges.extend(read(core, store, &history));
            }
        }
        Self { exchanges, planned, writes: OwnWrites::since(core, store, record) }
    }

    /// Tells whether a node that changed is as the layer left it, but for what Journeyman exchanged since.
    pub(super) fn explain(&self, node: ChangedNode<'_>) -> bool {
        let ChangedNode { path, here, left, since } = node;
        if self.planned.iter().any(|plan| plan.is_around(path) || plan.takes_away(path)) {
            return true;
        }
        if self.writes.explain(node) {
            return true;
        }
        let found: Vec<(&OwnExchange, &NodeFacts)> =
            self.exchanges.iter().filter_map(|one| Some((one, one.left.get(path)?))).collect();
        let was_there = was_there(&found, since);
        found.iter().zip(was_there).any(|((one, facts), was_there)| {
            let is_it = one.settled.is_none() || here.is_same_node(facts);
            let was_there = match left {
                Some(left) => facts.is_same_node(left),
                None => one.is_as_then && was_there,
            };
            is_it && one.touched_last(here) && was_there
        })
    }
}

/// Directories in which this session wrote files since a layer was exchanged, without a layer of its own: a file that
/// is made, and goes with an undo, leaves the directory with another time. What else is in it has times of its own.
struct OwnWrites {
    /// Relative to the root, with the milliseconds since the epoch when the last of these calls had ended.
    directories: HashMap<PathBuf, u64>,
}

impl OwnWrites {
    fn since(core: &Core, store: &Store, record: &LayerRecord) -> Self {
        let mut directories = HashMap::new();
        let calls = core.recorder.journal().map(|journal| store.calls(journal.session()));
        for call in calls.and_then(Result::ok).unwrap_or_default() {
            let effects = call.effects();
            if effects.layers.iter().any(|layer| layer.layer == record.layer) {
                directories.clear();
                continue;
            }
            let ended = ended(&call);
            let parent =
                |path: &Path| Some(path.strip_prefix(&record.root).ok()?.parent()?.to_owned());
            let parents = effects.files.iter().filter_map(|effect| parent(&effect.path));
            directories.extend(parents.map(|parent| (parent, ended)));
        }
        Self { directories }
    }

    /// Tells whether a directory was last touched by one of these calls, and is the one that the layer left.
    fn explain(&self, ChangedNode { path, here, left, .. }: ChangedNode<'_>) -> bool {
        let is_left = |left: &NodeFacts| {
            let attributes = |node: &NodeFacts| (node.inode, node.mode, node.owner, node.group);
            attributes(left) == attributes(here)
        };
        let NodeTime { seconds, nanoseconds } = here.changed;
        let touched = i128::from(seconds) * 1000 + i128::from(nanoseconds) / 1_000_000;
        let is_last = |ended: &u64| touched <= i128::from(*ended);
        here.kind == NodeKind::Directory
            && self.directories.get(path).is_some_and(is_last)
            && left.is_none_or(is_left)
    }
}

fn ended(call: &CallView) -> u64 {
    call.records.last().map_or(call.at, |(at, _)| *at)
}

/// For each exchange, whether the node that it left stood at its name when the layer in question was exchanged: it was
/// not touched since when the command was planned, or only by exchanges of earlier commands that left it so.
fn was_there(found: &[(&OwnExchange, &NodeFacts)], since: NodeTime) -> Vec<bool> {
    let mut known: Vec<bool> = Vec::new();
    for (one, facts) in found {
        let by_earlier = || {
            found.iter().zip(&known).any(|((earlier, left), was_there)| {
                let is_it = earlier.is_as_then && facts.is_same_node(left);
                *was_there && is_it && earlier.touched_last(facts)
            })
        };
        known.push(one.is_older || facts.changed < since || by_earlier());
    }
    known
}

/// The node at a step's name when its layer is on this side.
pub(super) fn left_by(step: &LayerStep, side: LayerSide) -> Option<&NodeFacts> {
    match side {
        LayerSide::Kept => step.after.as_ref(),
        LayerSide::TakenBack => step.before.as_ref(),
    }
}

pub(super) fn is_named(step: &&LayerStep) -> bool {
    step.work != LayerWork::Attributes
}

/// The records of every other layer of the same root, in the order of their commands.
fn histories<'a>(records: &[&'a LayerRecord], of: &LayerRecord) -> Vec<History<'a>> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut all: Vec<(History<'a>, LayerSide)> = Vec::new();
    for record in records.iter().filter(|record| record.root == of.root) {
        if record.layer == of.layer {
            // All that is known by now was known at this exchange.
            all.iter_mut().for_each(|(history, side)| history.then = Some(*side));
            continue;
        }
        let place = *places.entry(&record.layer).or_insert(all.len());
        match all.get_mut(place) {
            Some((history, side)) => (history.last, *side) = (record, record.to),
            None => all.push((History { last: record, then: None }, record.to)),
        }
    }
    all.into_iter().map(|(history, _)| history).collect()
}

/// Tells whether a layer has names at or in those that another one changed.
fn may_touch(record: &LayerRecord, roots: &HashSet<&Path>) -> bool {
    let is_inside = |path: &str| Path::new(path).ancestors().any(|path| roots.contains(path));
    record.more > 0 || record.names.iter().any(|name| is_inside(&name.path))
}

/// The last exchange of a layer; `None` where its versions are no longer kept.
fn read(core: &Core, store: &Store, history: &History<'_>) -> Option<OwnExchange> {
    let layer = core.layers.place()?.take(&history.last.layer).ok()?;
    let settled = layer.layer().settled().ok()??;
    let steps = steps_of(store, history.last).ok()?;
    Some(OwnExchange::new(&steps, (Some(settled), history.last.to), history))
}
