//! The numbers that keep a call, a batch and a turn within bounds.

use serde::{Deserialize, Serialize};

/// FR-LIM-01..05 and the output limits. `default()` is what the requirements say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    pub calls_per_batch: usize,
    pub iterations_per_turn: usize,
    pub args_bytes: usize,
    pub patch_bytes: usize,
    pub read_scan_bytes: u64,
    pub read_bytes: u64,
    pub output_bytes: usize,
    /// What a result may take of the model's context when nothing better is known (FR-REG-04b).
    pub capacity_bytes: usize,
    /// Configured default and cap of a listing at once; nothing when not configured.
    pub list_entries: Option<usize>,
    pub list_depth: Option<usize>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            calls_per_batch: 8,
            iterations_per_turn: 4,
            args_bytes: 256 * 1024,
            patch_bytes: 512 * 1024,
            read_scan_bytes: 2 * 1024 * 1024,
            read_bytes: 200 * 1024,
            output_bytes: 100 * 1024,
            capacity_bytes: 64 * 1024,
            list_entries: None,
            list_depth: None,
        }
    }
}
