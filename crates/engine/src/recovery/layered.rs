//! The layers of a call that a crash left between two sides: brought to the one or to the other.
//!
//! Law: the layers of a call go one after another, so those before the one under way are through and those after it
//! are untouched. Where somebody else's node stands at a name, that name is left alone. What was never recorded
//! counts for nothing, and is set aside for a person to decide about.

use std::path::PathBuf;

use jm_files::layer::{LayerStep, LayerWork, StepState};
use jm_process::held::HeldLayer;
use jm_store::{LayerRecord, Record};
use jm_types::{CallKey, ToolError};

use crate::core::Core;
use crate::layers::{state_on, steps_of};

/// How far the steps of one layer have come towards their side.
#[derive(Debug, Clone, Copy, Default)]
struct Progress {
    done: usize,
    left: usize,
    foreign: usize,
}

/// A layer that the journal names, with its steps.
struct RecordedLayer {
    layer: HeldLayer,
    steps: Vec<LayerStep>,
    goal: StepState,
}

impl RecordedLayer {
    fn open(core: &Core, record: &LayerRecord) -> Result<Self, String> {
        let place = core.layers.place().ok_or("no state directory")?;
        let layer = place.take(&record.layer).map_err(|error| error.to_string())?;
        let journal = core.recorder.journal().ok_or("there is no journal")?;
        let steps = steps_of(journal.store(), record).map_err(|error| error.to_string())?;
        Ok(Self { layer, steps, goal: state_on(record.to) })
    }

    fn progress(&self) -> Result<Progress, String> {
        let mut progress = Progress::default();
        let is_named = |step: &&LayerStep| step.work != LayerWork::Attributes;
        let any_name = self.steps.iter().any(|step| is_named(&step));
        for step in self.steps.iter().filter(|step| !any_name || is_named(step)) {
            let state = self.layer.layer().state(step).map_err(|error| error.to_string())?;
            match state {
                StepState::Foreign => progress.foreign += 1,
                state if state == self.goal => progress.done += 1,
                StepState::Done | StepState::NotDone => progress.left += 1,
            }
        }
        Ok(progress)
    }

    /// Goes to the side, or back from it, past names at which somebody else's node stands.
    fn converge(&self, goal: StepState) -> Result<(), String> {
        let layer = self.layer.layer();
        let foreign = layer.foreign(&self.steps).map_err(|error| error.to_string())?;
        self.converge_but_for(goal, &foreign)
    }

    /// Goes back from a side that was reached long ago, past what was changed since.
    fn leave(&self) -> Result<(), String> {
        let layer = self.layer.layer();
        let mut theirs = layer.foreign(&self.steps).map_err(|error| error.to_string())?;
        for step in &self.steps {
            let is_changed = layer.is_changed_since(step, self.goal);
            if is_changed.map_err(|error| error.to_string())? {
                theirs.push(step.path.clone());
            }
        }
        self.converge_but_for(opposite(self.goal), &theirs)
    }

    fn converge_but_for(&self, goal: StepState, theirs: &[PathBuf]) -> Result<(), String> {
        let ours = self.steps.iter().filter(|step| !theirs.contains(&step.path)).cloned();
        let converged = self.layer.layer().converge(&ours.collect::<Vec<_>>(), goal);
        converged.map_err(|error| error.to_string())
    }
}

fn opposite(state: StepState) -> StepState {
    match state {
        StepState::Done => StepState::NotDone,
        StepState::NotDone | StepState::Foreign => StepState::Done,
    }
}

/// The place of the layers of a call between the two sides of its change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LayersPlace {
    Before,
    Between,
    After,
    /// Nodes of others stand at every name.
    Foreign,
    Unknown,
}

/// Finds out how far the layers of a call came.
pub(super) fn place_of(core: &Core, records: &[LayerRecord]) -> LayersPlace {
    let progress = |record: &LayerRecord| RecordedLayer::open(core, record)?.progress();
    let Ok(all) = records.iter().map(progress).collect::<Result<Vec<_>, _>>() else {
        return LayersPlace::Unknown;
    };
    let is_any = |of: fn(&Progress) -> usize| all.iter().any(|one| of(one) > 0);
    match (is_any(|one| one.done), is_any(|one| one.left)) {
        (true, true) => LayersPlace::Between,
        (true, false) => LayersPlace::After,
        (false, true) => LayersPlace::Before,
        (false, false) if is_any(|one| one.foreign) => LayersPlace::Foreign,
        (false, false) => LayersPlace::After,
    }
}

fn open_all(
    core: &Core,
    call: &CallKey,
    records: &[LayerRecord],
) -> Result<Vec<RecordedLayer>, ToolError> {
    let opened = records.iter().map(|record| RecordedLayer::open(core, record));
    opened.collect::<Result<_, _>>().map_err(|why| failed(call, &why))
}

fn failed(call: &CallKey, why: &str) -> ToolError {
    ToolError::failed("recovery", format!("layer of {call}: {why}"))
}

/// Completes what the layers of a call were on their way to.
pub(super) fn complete(
    core: &Core,
    call: &CallKey,
    records: &[LayerRecord],
) -> Result<(), ToolError> {
    for layer in open_all(core, call, records)? {
        layer.converge(layer.goal).map_err(|why| failed(call, &why))?;
    }
    Ok(())
}

/// Takes back what the layers of a call did, as far as they came.
pub(super) fn take_back(
    core: &Core,
    call: &CallKey,
    records: &[LayerRecord],
) -> Result<(), ToolError> {
    let layers = open_all(core, call, records)?;
    for (number, layer) in layers.iter().enumerate().rev() {
        let mut is_begun = true;
        for earlier in &layers[..number] {
            is_begun &= earlier.progress().map_err(|why| failed(call, &why))?.left == 0;
        }
        if is_begun {
            layer.converge(opposite(layer.goal)).map_err(|why| failed(call, &why))?;
        }
    }
    Ok(())
}

/// Takes back a change that was whole, but for what was changed since.
pub(super) fn leave(core: &Core, call: &CallKey, records: &[LayerRecord]) -> Result<(), ToolError> {
    for layer in open_all(core, call, records)?.iter().rev() {
        layer.leave().map_err(|why| failed(call, &why))?;
    }
    Ok(())
}

/// Says that what was prepared never was, and leaves the layers of a command to a person.
pub(super) fn withdraw(
    core: &Core,
    call: &CallKey,
    records: &[LayerRecord],
) -> Result<Vec<String>, ToolError> {
    let withdrawn = records.iter().map(|_| Record::Withdrawn { call: call.clone() });
    core.recorder.records(withdrawn.collect())?;
    Ok(set_aside(core, call))
}

/// The names under which the layers of a call wait for a person: those that were never recorded are set aside now.
pub(super) fn set_aside(core: &Core, call: &CallKey) -> Vec<String> {
    let Some(place) = core.layers.place() else { return Vec::new() };
    let mut ids = held(core, call);
    for name in place.of_call(call) {
        let is_empty = |layer: &HeldLayer| layer.is_untouched();
        match place.take(&name) {
            Ok(layer) if is_empty(&layer) => jm_types::ignore_error(layer.remove(), "it is empty"),
            Ok(layer) => {
                ids.extend(place.set_aside(layer).ok().map(|held| held.id().to_owned()));
            }
            Err(_) => {}
        }
    }
    ids
}

/// The layers of a call that wait for a person already.
fn held(core: &Core, call: &CallKey) -> Vec<String> {
    let all = core.layers.place().and_then(|place| place.held().list().ok()).unwrap_or_default();
    let of_call =
        all.into_iter().filter(|one| one.description.call.as_deref() == Some(call.as_str()));
    of_call.map(|one| one.id).collect()
}

/// Tells whether a command of the call ran on a layer of which the journal knows nothing yet.
pub(super) fn is_held(core: &Core, call: &CallKey) -> bool {
    let Some(place) = core.layers.place() else { return false };
    !place.of_call(call).is_empty() || !held(core, call).is_empty()
}
