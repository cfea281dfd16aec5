//! Keepings by hand that were interrupted: their layers are no longer among the held ones, and recovery resolves them.

use anyhow::{Context, Result};
use jm_engine::layer_kept_by;
use jm_process::command_layers::CommandLayers;
use jm_process::held::HeldEntry;
use jm_store::CallView;

use crate::{locations, sessions};

/// The layers whose keeping was interrupted, under the ids by which they were held.
pub(super) fn list() -> Result<Vec<HeldEntry>> {
    let place = CommandLayers::open(&locations::state()?).context("layers of commands")?;
    // Without one the journal need not be opened.
    if place.names().next().is_none() {
        return Ok(Vec::new());
    }
    let store = sessions::store()?;
    let mut found = Vec::new();
    for view in store.unsettled().map_err(sessions::told)? {
        if view.owner.as_ref().is_some_and(|owner| sessions::identity(owner).is_alive()) {
            continue;
        }
        let calls = store.unfinished(&view.session).map_err(sessions::told)?;
        found.extend(calls.iter().filter_map(|call| entry(&place, call)));
    }
    Ok(found)
}

fn entry(place: &CommandLayers, call: &CallView) -> Option<HeldEntry> {
    let id = layer_kept_by(call).filter(|_| call.result().is_none())?;
    let name = place.of_call(&call.call.call).into_iter().next()?;
    let description = place.description(&name).ok()?;
    Some(HeldEntry { id, description, is_in_use: false, is_half_kept: true })
}
