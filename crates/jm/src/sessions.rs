//! Sessions that outlive a process: what was read, by name.
//!
//! Law: one process at a time works with a session; a second one is told so.

use anyhow::{Context, Result, bail};
use jm_engine::Session;
use jm_workspace::state::{StateDir, StateLock, fresh_id};

use crate::locations;

const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// A session, and where it is kept if anywhere.
pub(crate) struct Kept {
    pub(crate) session: Session,
    place: Option<(StateDir, String, StateLock)>,
}

pub(crate) fn open(id: Option<&str>) -> Result<Kept> {
    let Some(id) = id else {
        return Ok(Kept { session: Session::new(fresh_id()?), place: None });
    };
    if !is_well_formed(id) {
        bail!("session id `{id}`: use 1 to 64 letters, digits, `-` or `_`");
    }
    let directory = locations::state()?.subdirectory("sessions")?;
    let Some(lock) = directory.lock(id)? else {
        bail!("session {id} is in use by another process; wait for it, or use another id");
    };
    let name = format!("{id}.json");
    let session = match directory.read(&name, MOST_BYTES)? {
        None => Session::new(id),
        Some(text) => serde_json::from_str(&text).with_context(|| {
            let file = directory.path().join(&name);
            format!("session file {} is damaged; move it away to start anew", file.display())
        })?,
    };
    Ok(Kept { session, place: Some((directory, name, lock)) })
}

impl Kept {
    pub(crate) fn save(&self) -> Result<()> {
        let Some((directory, name, _)) = &self.place else { return Ok(()) };
        let text = serde_json::to_vec(&self.session)?;
        directory.write(name, &text).context("the session could not be saved")
    }
}

fn is_well_formed(id: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    (1..=64).contains(&id.len()) && id.chars().all(letter)
}
