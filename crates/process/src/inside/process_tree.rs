//! All processes of a command.
//!
//! Law: ending the tree ends everything that was ever started in it. In a process namespace the
//! kernel knows who that is; elsewhere orphans come to us, so it is everyone below us.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use jm_system::identity::{ProcessStat, all_pids};
use jm_types::ignore_error;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, wait};

use crate::contract::kill_failures::{self, Unended};

/// Between the request to end and the end.
const GRACE: Duration = Duration::from_millis(300);
/// For processes that the kernel holds on to.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProcessTree {
    /// We are the first process of a process namespace.
    Namespace,
    /// We are the parent of orphans.
    Descendants,
}

/// The processes that are still there after everyone was to end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Remaining {
    None,
    /// The kernel holds on to them, or they belong to another user by now.
    Processes(Vec<Unended>),
}

impl Remaining {
    pub(crate) fn unended(&self) -> Vec<Unended> {
        match self {
            Self::None => Vec::new(),
            Self::Processes(unended) => unended.clone(),
        }
    }
}

impl ProcessTree {
    /// Asks everyone to end, waits a little, and ends those who did not.
    pub(crate) fn end(self) -> Remaining {
        if self.reap().is_none() {
            return Remaining::None;
        }
        self.signal(Signal::TERM);
        // A stopped process takes the request when it goes on.
        self.signal(Signal::CONT);
        if self.is_gone_within(GRACE) {
            return Remaining::None;
        }
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            // Those that stand still cannot fork while the others are killed.
            self.signal(Signal::STOP);
            self.signal(Signal::KILL);
            if self.is_gone_within(Duration::from_millis(20)) {
                return Remaining::None;
            }
        }
        Remaining::Processes(Self::unended())
    }

    /// Kills once more, for the reasons of those who are still there.
    fn unended() -> Vec<Unended> {
        // In a namespace too: its first process adopts the orphans.
        let left = descendants();
        let why = |pid: i32| {
            let refused = Pid::from_raw(pid).and_then(kill_failures::kill);
            refused.unwrap_or_else(|| Unended::held(pid))
        };
        left.into_iter().map(why).collect()
    }

    fn signal(self, signal: Signal) {
        match self {
            // ESRCH: no process is there.
            ProcessTree::Namespace => kill_all(signal),
            ProcessTree::Descendants => {
                for pid in descendants().into_iter().filter_map(Pid::from_raw) {
                    ignore_error(
                        kill_process(pid, signal),
                        "what a refusal means is told at the end, of those who are still there",
                    );
                }
            }
        }
    }

    fn is_gone_within(self, most: Duration) -> bool {
        let began = Instant::now();
        loop {
            if self.reap().is_none() {
                return true;
            }
            if began.elapsed() >= most {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Reaps the children that have ended. `None` when none is left.
    fn reap(self) -> Option<()> {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return Some(()),
                Err(_) => return None,
            }
        }
    }
}

/// Reaps a child that has ended: the command itself, or an orphan that came to us.
pub(crate) fn ended() -> Option<(Pid, WaitStatus)> {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(ended) => return ended,
            Err(Errno::INTR) => {}
            Err(_) => return None,
        }
    }
}

/// Everyone in our process namespace but us.
#[allow(unsafe_code)]
fn kill_all(signal: Signal) {
    // SAFETY: takes no pointers. We are the first process of the namespace, so `-1` is everyone in
    // it; none left is not an error.
    unsafe { libc::kill(-1, signal.as_raw()) };
}

/// Everyone below us, from one look at the process table.
fn descendants() -> Vec<i32> {
    let parents: BTreeMap<u32, u32> =
        all_pids().filter_map(|pid| Some((pid, ProcessStat::read(pid)?.parent))).collect();
    let us = std::process::id();
    let is_ours = |mut pid: u32| {
        // The table may change while it is read; a chain is never longer than the table.
        for _ in 0..parents.len() {
            match parents.get(&pid) {
                Some(parent) if *parent == us => return true,
                Some(parent) => pid = *parent,
                None => return false,
            }
        }
        false
    };
    parents.keys().copied().filter(|pid| is_ours(*pid)).map(u32::cast_signed).collect()
}
