//! `jm gc`, `jm du`: how much the journal takes, and taking less.

use std::path::PathBuf;

use anyhow::Result;
use jm_store::{Space, Store, StoreError};
use jm_system::clock::now_epoch_ms;
use jm_tui::block::numbers::bytes;
use jm_types::CallKey;
use serde_json::json;

use super::{exit, old_versions, print};
use crate::cli::{Common, Gc, ListingArgs};
use crate::{locations, sessions, wire};

/// Of a hundred parts of the quota, where people are told.
const NEAR: u64 = 80;

pub(crate) fn collect(common: &Common, gc: &Gc) -> Result<u8> {
    let most = wire::load(common)?.config.journal.quota_bytes;
    let store = sessions::store()?;
    let mut freed = store.collect(&sessions::is_alive);
    if freed.as_ref().map_or_else(StoreError::is_full, |freed| freed.space == Space::DiskFull) {
        // A full disk is a reason to come here: what is kept free for such a day is for this too.
        sessions::give_back_reserve()?;
    }
    if freed.as_ref().is_err_and(StoreError::is_full) {
        freed = store.collect(&sessions::is_alive);
    }
    let freed = freed.map_err(sessions::told)?;
    print::line(&format!("Removed {} unused contents, {}", freed.blobs, bytes(freed.stored)))?;
    let spools = remove_spools(&store)?;
    if spools > 0 {
        print::line(&format!("Removed {spools} unfinished outputs"))?;
    }
    let jobs = wire::jobs(&wire::load(common)?.config)?.forget_old()?;
    if jobs > 0 {
        print::line(&format!("Removed the records of {jobs} old processes"))?;
    }
    let layers = old_versions::collect(&store, most)?;
    let most_contents = most.saturating_sub(layers);
    let shrunk =
        store.shrink(most_contents, now_epoch_ms(), &sessions::is_alive).map_err(sessions::told)?;
    if shrunk.blobs > 0 {
        print::line(&format!(
            "Removed the {} oldest contents (over the quota), {}: they can no longer be undone",
            shrunk.blobs,
            bytes(shrunk.stored)
        ))?;
    }
    if gc.compact {
        store.compact(&sessions::is_alive).map_err(sessions::told)?;
    } else if let Some(note) = kept(shrunk.space) {
        print::note(&format!("jm: {note}"));
    }
    warn(store.blob_stats().map_err(sessions::told)?.stored + layers, most);
    Ok(exit::RAN)
}

/// Why the disk does not have the journal's free space back.
fn kept(space: Space) -> Option<String> {
    match space {
        Space::GivenBack => None,
        Space::DiskFull => Some(
            "the disk is too full to shrink the journal; its free space will be reused".to_owned(),
        ),
        Space::Busy => Some("the journal is busy; run `jm gc` again later to finish".to_owned()),
        Space::NeedsRewrite(free) => Some(format!(
            "{} of the journal are free and will be reused\n  hint: shrink it with `jm gc --compact` \
             while no session runs",
            bytes(free)
        )),
    }
}

/// Removes outputs of commands whose calls are settled, or unknown.
fn remove_spools(store: &Store) -> Result<usize> {
    let spools = sessions::spools()?;
    let views = store.sessions().map_err(sessions::told)?;
    let mut removed = 0;
    for name in spools.names()? {
        let session = CallKey::from(name.as_str()).session().unwrap_or_default();
        let owner =
            views.iter().find(|view| view.session == session).and_then(|v| v.owner.as_ref());
        let at_work = owner.is_some_and(|owner| sessions::identity(owner).is_alive());
        let calls = store.unfinished(&session).map_err(sessions::told)?;
        let waits = calls.iter().any(|call| *call.call.call == *name && call.result().is_none());
        if !at_work && !waits {
            spools.remove(&name)?;
            removed += 1;
        }
    }
    Ok(removed)
}

pub(crate) fn disk_use(common: &Common, listing: &ListingArgs) -> Result<u8> {
    let settings = wire::load(common)?.config.journal;
    let store = sessions::store()?;
    let stats = store.blob_stats().map_err(sessions::told)?;
    let outputs = store.output_stats().map_err(sessions::told)?;
    let state = locations::state()?;
    let (layers, layer_bytes) = old_versions::kept(&store)?;
    let total = state.disk_use()?;
    if listing.json {
        print::json(&json!({
            "path": state.path(), "bytes": total, "contents": stats.count,
            "contents_bytes": stats.bytes, "contents_stored": stats.stored,
            "outputs": outputs.count, "outputs_bytes": outputs.bytes,
            "outputs_stored": outputs.stored, "outputs_most": settings.outputs_bytes,
            "layers": layers, "layers_bytes": layer_bytes, "most": settings.quota_bytes,
        }))?;
    } else {
        print::line(&format!("{}: {}", state.path().display(), bytes(total)))?;
        let (size, stored) = (bytes(stats.bytes), bytes(stats.stored));
        print::line(&format!("  {} contents: {size}, {stored} compressed", stats.count))?;
        let (size, stored) = (bytes(outputs.bytes), bytes(outputs.stored));
        print::line(&format!("  of these {} outputs: {size}, {stored} compressed", outputs.count))?;
        let size = bytes(layer_bytes);
        print::line(&format!("  {layers} layers of commands: {size} of old versions"))?;
    }
    warn(stats.stored + layer_bytes, settings.quota_bytes);
    Ok(exit::RAN)
}

fn warn(stored: u64, most: u64) {
    if let Some(warning) = quota_warning(stored, most) {
        print::note(&format!("jm: warning: {warning}"));
    }
}

fn quota_warning(stored: u64, most: u64) -> Option<String> {
    if stored > most {
        return Some(format!(
            "the journal stores {}, more than journal.quota_bytes = {most} ({}); remove the oldest \
             with `jm gc`",
            bytes(stored),
            bytes(most)
        ));
    }
    (stored > most / 100 * NEAR).then(|| {
        let (stored, quota) = (bytes(stored), bytes(most));
        format!("the journal stores {stored}, near journal.quota_bytes = {most} ({quota})")
    })
}

/// With less than this nothing may be recorded soon.
const LITTLE_SPACE: u64 = 64 * 1024 * 1024;

/// The state directory and the room it has.
pub(super) struct Room {
    pub(super) path: PathBuf,
    pub(super) free: u64,
    pub(super) stored: u64,
    pub(super) most: u64,
}

impl Room {
    /// `most` is the quota.
    pub(super) fn now(most: u64) -> Result<Self> {
        let state = locations::state()?;
        let free = state.disk_free()?;
        let store = sessions::store()?;
        let (_, layers) = old_versions::kept(&store)?;
        let stored = store.blob_stats().map_err(sessions::told)?.stored + layers;
        Ok(Self { path: state.path().to_owned(), free, stored, most })
    }

    pub(super) fn warnings(&self) -> Vec<String> {
        let free = self.free;
        let full = (free < LITTLE_SPACE).then(|| {
            format!(
                "the disk of the state directory has only {} left; free some space: without it \
                 nothing can be recorded or run",
                bytes(free)
            )
        });
        quota_warning(self.stored, self.most).into_iter().chain(full).collect()
    }
}
