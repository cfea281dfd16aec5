//! Reading the record that a launcher left of its command.

use std::path::Path;
use std::time::{Duration, Instant};

use jm_system::state::read_text;

use crate::contract::record::{CommandRecord, running_lock};

/// For a launcher whose program has died; it needs less to end everything.
const ORPHAN_PATIENCE: Duration = Duration::from_secs(5);

/// A record is a line.
const MOST_RECORD_BYTES: u64 = 4096;

/// Reads the record of a command. A launcher that is still ending it is waited for.
pub(crate) fn read_record(folder: &Path, name: &str) -> Option<CommandRecord> {
    await_unlock(&folder.join(running_lock(name)));
    let text = read_text(&folder.join(name), MOST_RECORD_BYTES).ok()??;
    serde_json::from_str(&text).ok()
}

/// Waits until no launcher holds the lock.
fn await_unlock(running: &Path) {
    let began = Instant::now();
    while began.elapsed() < ORPHAN_PATIENCE {
        let Ok(file) = std::fs::File::open(running) else { return };
        if file.try_lock().is_ok() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}
