//! The record of a command that its launcher writes, beyond the life of the program that started it.

use serde::{Deserialize, Serialize};

use super::ending::CommandEnding;

/// The facts that are kept of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandRecord {
    /// The way in which it ended.
    pub ended: CommandEnding,
    /// Milliseconds from its start.
    pub elapsed_ms: u64,
    /// Output that the program had read by then.
    pub stdout_bytes: u64,
    /// Bytes of standard error that the program had read by then.
    pub stderr_bytes: u64,
}

/// The name of the file that is locked while a command's launcher lives.
pub(crate) fn running_lock(record: &str) -> String {
    format!("{record}.running")
}
