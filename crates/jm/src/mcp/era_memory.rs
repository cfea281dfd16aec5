//! The era that each server spoke the last time, so that it need not be probed again.
//!
//! Law: this is a memory and no promise. What it has wrong costs one more start of the server.

use std::collections::BTreeMap;

use jm_mcp::client::Era;
use jm_system::state::read_text;
use jm_types::Digest;

use crate::locations;

const FILE: &str = "mcp-eras.json";
const MOST_BYTES: u64 = 1024 * 1024;
/// More servers than anybody has; then it begins anew.
const MOST_ENTRIES: usize = 1000;

fn read() -> BTreeMap<String, String> {
    let path = locations::state_path().map(|path| path.join(FILE));
    let text = path.ok().and_then(|path| read_text(&path, MOST_BYTES).ok().flatten());
    text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

pub(super) fn era_of(server: &Digest) -> Option<Era> {
    read().get(&server.to_string()).and_then(|word| Era::of_word(word))
}

pub(super) fn remember(server: &Digest, era: Era) {
    let mut known = read();
    let old = known.insert(server.to_string(), era.word().to_owned());
    if old.as_deref() == Some(era.word()) {
        return;
    }
    if known.len() > MOST_ENTRIES {
        known.clear();
    }
    let Ok(text) = serde_json::to_vec(&known) else { return };
    // What cannot be remembered is found out again.
    if let Ok(state) = locations::state() {
        state.write(FILE, &text).unwrap_or_default();
    }
}
