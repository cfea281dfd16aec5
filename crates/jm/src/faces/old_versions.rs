//! The old versions of files that held commands replaced: how much room they take, and which nobody needs.
//!
//! Law: the journal lets a layer go before its directory does, so that undo never finds half of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use jm_engine::layer_diff::{layer_names, layer_versions};
use jm_files::layer::FileVersions;
use jm_files::{Sandbox, SandboxSettings, is_ignored_directory};
use jm_process::command_layers::CommandLayers;
use jm_store::{CallView, LayerRecord, LayerView, Store};
use jm_system::clock::now_epoch_ms;
use jm_types::CallKey;

use super::print;
use crate::{locations, sessions};

/// A file by its name in the root, as it was and became.
type NamedVersions = (String, FileVersions);

fn layers() -> Result<CommandLayers> {
    CommandLayers::open(&locations::state()?).context("layers of commands")
}

/// The layers that can be taken back, or put in force again, the oldest first.
fn recorded(store: &Store) -> Result<Vec<LayerView>> {
    let place = layers()?;
    let there: BTreeSet<String> = place.names().collect();
    let mut seen = BTreeSet::new();
    let mut all = Vec::new();
    for view in store.layered().map_err(sessions::told)? {
        let is_there = there.contains(&view.layer.layer);
        if is_there && seen.insert(view.layer.layer.clone()) {
            all.push(view);
        }
    }
    Ok(all)
}

/// The files that a call's commands changed, as far as their old versions are kept, with their root.
pub(super) fn versions(store: &Store, call: &CallView) -> Vec<(PathBuf, Vec<NamedVersions>)> {
    let records = call.effects().layers;
    let Some(place) = (!records.is_empty()).then(layers).and_then(Result::ok) else {
        return Vec::new();
    };
    let files = |record: LayerRecord| {
        let files = layer_versions(&place, store, &record);
        (record.root, files)
    };
    records.into_iter().map(files).collect()
}

/// How many there are, and the bytes that they take on disk.
pub(super) fn kept(store: &Store) -> Result<(usize, u64)> {
    let (place, all) = (layers()?, recorded(store)?);
    Ok((all.len(), all.iter().map(|view| stored(&place, view)).sum()))
}

/// The bytes on disk of a layer's versions; another process may have removed it meanwhile.
fn stored(place: &CommandLayers, view: &LayerView) -> u64 {
    place.stored_bytes(&view.layer.layer).unwrap_or(0)
}

/// Removes layers that no record names, and the oldest beyond the quota; the bytes that stay.
pub(super) fn collect(store: &Store, most: u64) -> Result<u64> {
    let place = layers()?;
    let all = store.layered().map_err(sessions::told)?;
    let mut steps: BTreeMap<&str, Vec<&LayerView>> = BTreeMap::new();
    for view in &all {
        steps.entry(&view.layer.layer).or_default().push(view);
    }
    let mut removed = place.held().remove_undescribed()?;
    for name in place.names() {
        let is_needed = match steps.get(name.as_str()) {
            Some(views) => views.iter().any(|view| is_stored(store, view)),
            None => is_unsettled(store, &name)?,
        };
        if !is_needed && place.forget(&name).unwrap_or(false) {
            removed += 1;
        }
    }
    let (let_go, bytes) = let_oldest_go(store, &place, &steps, most)?;
    let layers = |count| if count == 1 { "layer" } else { "layers" };
    if removed > 0 {
        print::line(&format!("Removed {removed} unused {}", layers(removed)))?;
    }
    if let_go > 0 {
        let layers = layers(let_go);
        print::line(&format!(
            "Removed {let_go} {layers} (over the quota; those of ignored directories, then the oldest): these commands can no longer be undone"
        ))?;
    }
    Ok(bytes)
}

/// Removes the oldest layers beyond the quota; their number, and the bytes that stay.
fn let_oldest_go(
    store: &Store,
    place: &CommandLayers,
    steps: &BTreeMap<&str, Vec<&LayerView>>,
    most: u64,
) -> Result<(usize, u64)> {
    let contents = store.blob_stats().map_err(sessions::told)?.stored;
    let sized = |view| (stored(place, &view), view);
    let mut kept: Vec<(u64, LayerView)> = recorded(store)?.into_iter().map(sized).collect();
    let mut bytes: u64 = kept.iter().map(|(size, _)| size).sum();
    if contents.saturating_add(bytes) > most {
        // A build can be run again.
        kept.sort_by_cached_key(|(_, view)| !is_all_ignored(store, &view.layer));
    }
    let mut let_go = 0;
    // To remove one that stores nothing would free nothing.
    for (size, view) in kept.iter().filter(|(size, view)| *size > 0 && !view.is_unsettled) {
        if contents.saturating_add(bytes) <= most {
            break;
        }
        for one in steps.get(view.layer.layer.as_str()).into_iter().flatten() {
            let released = store.release_steps(one.layer.steps, now_epoch_ms());
            released.map_err(sessions::told)?;
        }
        if place.forget(&view.layer.layer).unwrap_or(false) {
            bytes = bytes.saturating_sub(*size);
            let_go += 1;
        }
    }
    Ok((let_go, bytes))
}

/// Tells whether everything that a layer changed lies in directories that the project ignores.
fn is_all_ignored(store: &Store, record: &LayerRecord) -> bool {
    let Ok(sandbox) = Sandbox::new(&SandboxSettings::rooted_at(&record.root)) else { return false };
    let is_ignored = |directory: &Path| {
        let path = directory.to_str().and_then(|name| sandbox.resolve(name).ok());
        path.is_some_and(|path| is_ignored_directory(&path))
    };
    let mut known: BTreeMap<PathBuf, bool> = BTreeMap::new();
    let mut is_below = |(path, is_directory): &(PathBuf, bool)| {
        let directories = path.ancestors().skip(usize::from(!is_directory));
        directories.filter(|directory| !directory.as_os_str().is_empty()).any(|directory| {
            *known.entry(directory.to_owned()).or_insert_with(|| is_ignored(directory))
        })
    };
    let names = layer_names(store, record);
    !names.is_empty() && names.iter().all(&mut is_below)
}

fn is_stored(store: &Store, view: &LayerView) -> bool {
    store.blob(view.layer.steps).is_ok()
}

/// The call of a layer that no record names may still wait for its recovery.
fn is_unsettled(store: &Store, name: &str) -> Result<bool> {
    let call = name.rsplit_once('.').map(|(call, _)| CallKey::from(call));
    let session = call.and_then(|call| call.session());
    let views = store.unsettled().map_err(sessions::told)?;
    Ok(session.is_some_and(|session| views.iter().any(|view| view.session == session)))
}
