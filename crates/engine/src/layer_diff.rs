//! The files of a command that was kept from a layer, as they were and became: one version lies in the workspace, the
//! other in the layer.

use std::path::{Path, PathBuf};

use jm_files::layer::{FileVersions, Layer, LayerReport, LayerStep, NodeFacts, NodeKind};
use jm_process::command_layers::CommandLayers;
use jm_store::{LayerRecord, LayerSide, Store};
use jm_tools::ops::change::diff::unified_diff;
use jm_types::text::one_line;

use crate::layers::steps_of;

/// A larger file has no diff.
const MOST_BYTES: u64 = 4 * 1024 * 1024;

/// The files of a recorded layer by their names, in the direction of the record; none where its versions are let go.
pub fn layer_versions(
    place: &CommandLayers,
    store: &Store,
    record: &LayerRecord,
) -> Vec<(String, FileVersions)> {
    let Ok(steps) = steps_of(store, record) else { return Vec::new() };
    let Ok(layer) = place.take(&record.layer) else { return Vec::new() };
    versions_of(layer.layer(), record, &steps)
}

/// The names that a recorded layer makes, changes or removes, below its root, and whether each is a directory; none where
/// its versions are let go.
pub fn layer_names(store: &Store, record: &LayerRecord) -> Vec<(PathBuf, bool)> {
    let steps = steps_of(store, record).unwrap_or_default();
    let named = |step: LayerStep| {
        let is_directory = |node: &NodeFacts| node.kind == NodeKind::Directory;
        let sides = [&step.before, &step.after].map(|node| node.as_ref().is_some_and(is_directory));
        // A directory that stays has another time or mode.
        (sides != [true, true]).then_some((step.path, sides.contains(&true)))
    };
    steps.into_iter().filter_map(named).collect()
}

pub(crate) fn versions_of(
    layer: &Layer,
    record: &LayerRecord,
    steps: &[LayerStep],
) -> Vec<(String, FileVersions)> {
    let turned = |versions| match (versions, record.to) {
        (FileVersions::Known { before, after }, LayerSide::TakenBack) => {
            FileVersions::Known { before: after, after: before }
        }
        (versions, _) => versions,
    };
    let versions = |name: &str| {
        let path = Path::new(name);
        let around = steps.iter().filter(|step| path.starts_with(&step.path));
        let step = around.max_by_key(|step| step.path.as_os_str().len())?;
        let found = layer.versions(step, path, MOST_BYTES).ok()?;
        Some((name.to_owned(), turned(found)))
    };
    record.names.iter().filter_map(|name| versions(&name.path)).collect()
}

/// The diff of all of them; of one that is not known any more it says so.
pub fn diff_of(files: &[(String, FileVersions)]) -> String {
    let diff = |(name, versions): &(String, FileVersions)| match versions {
        FileVersions::Known { before, after } => {
            unified_diff(name, before.as_deref(), after.as_deref())
        }
        FileVersions::ChangedSince => {
            format!("(no diff of {}: changed since)\n", one_line(name))
        }
        FileVersions::NoFile => String::new(),
    };
    files.iter().map(diff).collect()
}

/// The diff of all text files of a layer that is not kept.
pub fn held_diff(layer: &Layer, report: &LayerReport) -> String {
    let is_file = |kind: Option<NodeKind>| kind == Some(NodeKind::File);
    let mut text = String::new();
    for (path, kinds) in &report.touched {
        if !is_file(kinds.before) && !is_file(kinds.after) {
            continue;
        }
        let side = |kind, read: Result<Option<Vec<u8>>, String>| match read {
            _ if !is_file(kind) => Ok(None),
            Ok(Some(content)) => Ok(Some(content)),
            Ok(None) => Err("it is larger than 4 MiB".to_owned()),
            Err(error) => Err(error),
        };
        let beneath = layer.read_beneath(path, MOST_BYTES).map_err(|error| error.to_string());
        let above = layer.read_above(path, MOST_BYTES).map_err(|error| error.to_string());
        let path = path.to_string_lossy();
        match (side(kinds.before, beneath), side(kinds.after, above)) {
            (Ok(before), Ok(after)) => {
                text.push_str(&unified_diff(&path, before.as_deref(), after.as_deref()));
            }
            (Err(why), _) | (_, Err(why)) => {
                text.push_str(&format!("(no diff of {}: {why})\n", one_line(&path)));
            }
        }
    }
    text
}
