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

impl Identity {
    /// Whether some process has this number, whichever it is.
    pub fn is_any_alive(pid: u32) -> bool {
        started(pid).is_some()
    }
}

fn boot() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().to_owned()
}

/// The 22nd field of `stat`; the second is a name in parentheses that may contain anything. A dead
/// process that nobody has buried yet is dead.
fn started(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat[stat.rfind(')')? + 1..].split_whitespace();
    let is_dead = matches!(fields.next()?, "Z" | "X" | "x");
    fields.nth(18)?.parse().ok().filter(|_| !is_dead)
}
