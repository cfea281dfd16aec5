//! The process that writes to a session.

use serde::{Deserialize, Serialize};

/// A process, told from any other that ever had its number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// The process id, which the system uses again later.
    pub pid: u32,
    /// When it started, in the kernel's own ticks.
    pub started: u64,
    /// Which boot of the machine.
    pub boot: String,
}
