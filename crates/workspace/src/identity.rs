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

    /// A process that is alive now.
    pub fn of(pid: u32) -> Option<Self> {
        Some(Self { pid, started: started(pid)?, boot: boot() })
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

fn started(pid: u32) -> Option<u64> {
    Stat::of(pid).map(|stat| stat.started)
}

/// What the kernel says of a process that is alive.
pub(crate) struct Stat {
    pub(crate) name: String,
    pub(crate) session: u32,
    pub(crate) started: u64,
}

impl Stat {
    /// The name stands in parentheses and may contain anything; session and start are the 6th and
    /// the 22nd field. A dead process that nobody has buried yet is dead.
    pub(crate) fn of(pid: u32) -> Option<Self> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (open, close) = (stat.find('(')?, stat.rfind(')')?);
        let name = stat.get(open + 1..close)?.to_owned();
        let mut fields = stat[close + 1..].split_whitespace();
        let is_dead = matches!(fields.next()?, "Z" | "X" | "x");
        let session = fields.nth(2)?.parse().ok()?;
        let started = fields.nth(15)?.parse().ok()?;
        (!is_dead).then_some(Self { name, session, started })
    }
}
