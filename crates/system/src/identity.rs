//! The identity of a process, told from any other that ever had its number (`/proc/PID/stat`, boot id).

use std::path::Path;

use crate::folder::readable_entries;

/// A process of some boot of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessIdentity {
    /// The number of the process, which the kernel uses again.
    pub pid: u32,
    /// Start time, in the kernel's ticks since the boot.
    pub started: u64,
    /// The kernel's id of the boot, which makes the start time unique.
    pub boot: String,
}

impl ProcessIdentity {
    /// The identity of this process.
    pub fn own() -> Self {
        let pid = std::process::id();
        Self { pid, started: started(pid).unwrap_or(0), boot: boot() }
    }

    /// A process that is alive now.
    pub fn of(pid: u32) -> Option<Self> {
        Some(Self { pid, started: started(pid)?, boot: boot() })
    }

    /// Tells whether that very process still runs.
    pub fn is_alive(&self) -> bool {
        self.boot == boot() && started(self.pid) == Some(self.started)
    }
}

impl ProcessIdentity {
    /// Tells whether some process has this number, whichever it is.
    pub fn is_any_alive(pid: u32) -> bool {
        started(pid).is_some()
    }
}

fn boot() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().to_owned()
}

fn started(pid: u32) -> Option<u64> {
    ProcessStat::of_living(pid).map(|stat| stat.started)
}

/// The kernel's description of a process, from `/proc/PID/stat`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessStat {
    /// The name of the program, cut by the kernel to 15 bytes.
    pub name: String,
    /// A zombie: it has ended, and its parent has not waited for it.
    pub is_dead: bool,
    /// The number of the parent process.
    pub parent: u32,
    /// The number of the session (`setsid`) that it belongs to.
    pub session: u32,
    /// Ticks since the boot.
    pub started: u64,
}

impl ProcessStat {
    /// Reads the description; `None` when there is no such process.
    pub fn read(pid: u32) -> Option<Self> {
        Self::parse(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// The same of a process that has not ended.
    pub fn of_living(pid: u32) -> Option<Self> {
        Self::read(pid).filter(|stat| !stat.is_dead)
    }

    /// The name stands in parentheses and may contain anything; parent, session and start are the
    /// 4th, the 6th and the 22nd field.
    fn parse(stat: &str) -> Option<Self> {
        let (open, close) = (stat.find('(')?, stat.rfind(')')?);
        let name = stat.get(open + 1..close)?.to_owned();
        let mut fields = stat[close + 1..].split_whitespace();
        let is_dead = matches!(fields.next()?, "Z" | "X" | "x");
        let parent = fields.next()?.parse().ok()?;
        let session = fields.nth(1)?.parse().ok()?;
        let started = fields.nth(15)?.parse().ok()?;
        Some(Self { name, is_dead, parent, session, started })
    }
}

/// The numbers of all processes, from one look at `/proc`.
pub fn all_pids() -> impl Iterator<Item = u32> {
    let entries = readable_entries(Path::new("/proc"));
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_contain_anything() {
        let line = "7 (a) b (c)) S 5 6 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 99 25";
        let stat = ProcessStat::parse(line).unwrap();
        let expected = ProcessStat {
            name: "a) b (c)".into(),
            is_dead: false,
            parent: 5,
            session: 8,
            started: 99,
        };
        assert_eq!(stat, expected);
        assert!(ProcessStat::parse(&line.replace(" S ", " Z ")).unwrap().is_dead);
    }

    #[test]
    fn this_process_is_there_and_is_its_own() {
        let own = ProcessIdentity::own();
        assert!(own.is_alive());
        assert_eq!(ProcessStat::read(own.pid).unwrap().started, own.started);
        assert!(all_pids().any(|pid| pid == own.pid));
    }
}
