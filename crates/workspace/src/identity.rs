//! Which process this is, told from any other that ever had its number.

/// A process of some boot of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub pid: u32,
    /// When it started, in the kernel's ticks since the boot.
    pub started: u64,
    pub boot: String,
}

impl Identity {
    pub fn own() -> Self {
        let pid = std::process::id();
        Self { pid, started: started(pid).unwrap_or(0), boot: boot() }
    }

    /// Whether that very process still runs.
    pub fn is_alive(&self) -> bool {
        self.boot == boot() && started(self.pid) == Some(self.started)
    }
}

fn boot() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().to_owned()
}

/// The 22nd field of `stat`; the second is a name in parentheses that may contain anything.
fn started(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let after_name = &stat[stat.rfind(')')? + 1..];
    after_name.split_whitespace().nth(19)?.parse().ok()
}
