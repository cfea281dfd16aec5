//! Keeping a command's layer as one change of its call.
//!
//! The order of durable writes, from the end of a command to its result:
//!
//! 1. The last process has ended, and with it the mount. The layer is read and judged; nothing is written.
//! 2. Marks of the overlay, devices and set-id bits are removed from what will be moved in, and the file system
//!    is synced (`syncfs`): from here on a power cut loses nothing of the layer.
//! 3. The record `layered` with the list of all steps is appended to the journal, in one transaction. Killed before
//!    this returns, the workspace is as if the command had never run, and recovery offers the layer.
//! 4. Names are exchanged, one step after another; the old versions are in the layer's directory. Killed here, the
//!    inode at each name says how far it came, and recovery goes to the one side or to the other.
//! 5. The moment is noted and the file system is synced again: the change is whole.
//! 6. The result of the call is appended. The layer's directory stays: it is what undo restores from.
//!
//! A keep that fails goes back the way it came, and the record `withdrawn` says so before the layer is set aside.

use std::path::Path;

use jm_files::layer::{KeepError, KeepLog, LayerReport, LayerStep, NodeChange, TouchedKinds};
use jm_process::held::HeldLayer;
use jm_store::{Entry as Append, LayerChange, LayerName, LayerRecord, LayerSide, Record};
use jm_system::fault::crash_point;
use jm_types::CallKey;

use crate::core::Core;
use crate::layers::packed;
use crate::record::reason;

/// Names that the journal lists beside the steps.
const MOST_NAMES: usize = 1_000;

/// Keeps all of a layer, or nothing: then the workspace is as it was, and the error says why.
pub(crate) fn keep_layer(
    core: &Core,
    call: &CallKey,
    layer: &HeldLayer,
    report: &LayerReport,
) -> Result<(), KeepError> {
    crash_point("layer.before");
    let mut log = LayerLog { core, call, layer, report, is_recorded: false };
    let outcome = layer.layer().keep(&report.plan.steps, &mut log);
    // With some of them stuck the record is what leads back.
    let is_back = !matches!(outcome, Ok(()) | Err(KeepError::Stuck { .. }));
    if is_back && log.is_recorded {
        crash_point("layer.before_withdrawn");
        // If this cannot be recorded, recovery finds every step undone and says the same.
        let withdrawn = vec![Record::Withdrawn { call: call.clone() }];
        jm_types::ignore_error(core.recorder.records(withdrawn), "recovery finds the same");
    }
    outcome
}

struct LayerLog<'a> {
    core: &'a Core,
    call: &'a CallKey,
    layer: &'a HeldLayer,
    report: &'a LayerReport,
    is_recorded: bool,
}

impl KeepLog for LayerLog<'_> {
    fn prepared(&mut self, steps: &[LayerStep]) -> Result<(), String> {
        crash_point("layer.before_record");
        let (digest, text) = packed(steps).map_err(|error| error.to_string())?;
        let (names, more) = names(self.report);
        let layer = LayerRecord {
            layer: self.layer.id().to_owned(),
            root: self.layer.description().root.clone(),
            to: LayerSide::Kept,
            steps: digest,
            names,
            more,
            bytes: self.report.bytes,
        };
        let records = vec![Record::Layered { call: self.call.clone(), layer }];
        let entry = Append { records, blobs: vec![&text], ..Append::default() };
        self.core.recorder.append(&entry).map_err(|error| reason(&error))?;
        self.is_recorded = true;
        Ok(())
    }
}

/// The first names that change, and how many more there are.
fn names(report: &LayerReport) -> (Vec<LayerName>, u64) {
    let of_steps = report.shown().map(|(step, change, _)| (step.path.as_path(), word(change)));
    let touched = report.touched.iter().map(|(path, kinds)| (path.as_path(), change_of(*kinds)));
    let mut all: std::collections::BTreeMap<&Path, LayerChange> = touched.collect();
    for (path, change) in of_steps {
        all.entry(path).or_insert(change);
    }
    let more = all.len().saturating_sub(MOST_NAMES) as u64;
    let named = |(path, change): (&Path, LayerChange)| {
        let path = match path.to_string_lossy() {
            root if root.is_empty() => ".".to_owned(),
            path => path.into_owned(),
        };
        LayerName { path, change }
    };
    (all.into_iter().take(MOST_NAMES).map(named).collect(), more)
}

fn word(change: NodeChange) -> LayerChange {
    match change {
        NodeChange::Created => LayerChange::Created,
        NodeChange::Changed => LayerChange::Changed,
        NodeChange::Deleted => LayerChange::Deleted,
    }
}

fn change_of(kinds: TouchedKinds) -> LayerChange {
    match (kinds.before, kinds.after) {
        (None, _) => LayerChange::Created,
        (Some(_), Some(_)) => LayerChange::Changed,
        (Some(_), None) => LayerChange::Deleted,
    }
}
