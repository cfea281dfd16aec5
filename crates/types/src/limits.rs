//! The numbers that keep a call, a batch and a turn within bounds.

use serde::{Deserialize, Serialize};

use crate::defaults;

/// FR-LIM-01..05 and the output limits. `default()` is what the requirements say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Calls of one message that are run.
    pub calls_per_batch: usize,
    /// Rounds of calls after one prompt.
    pub iterations_per_turn: usize,
    /// The longest arguments of one call.
    pub args_bytes: usize,
    /// The longest patch.
    pub patch_bytes: usize,
    /// The longest file that is searched for the lines of a range.
    pub read_scan_bytes: u64,
    /// The longest part of a file in one result.
    pub read_bytes: u64,
    /// The longest result.
    pub output_bytes: usize,
    /// The bytes that a result may take of the model's context when nothing better is known (FR-REG-04b).
    pub capacity_bytes: usize,
    /// Configured default and cap of a listing at once; nothing when not configured.
    pub list_entries: Option<usize>,
    /// Levels below the listed directory.
    pub list_depth: Option<usize>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            calls_per_batch: defaults::CAREFUL_CALLS_PER_BATCH as usize,
            iterations_per_turn: defaults::CAREFUL_ITERATIONS_PER_TURN as usize,
            args_bytes: defaults::ARGS_BYTES as usize,
            patch_bytes: defaults::PATCH_BYTES as usize,
            read_scan_bytes: defaults::READ_SCAN_BYTES,
            read_bytes: defaults::READ_BYTES,
            output_bytes: defaults::OUTPUT_BYTES as usize,
            capacity_bytes: defaults::CAPACITY_BYTES as usize,
            list_entries: None,
            list_depth: None,
        }
    }
}
