//! Processes that a command left behind.
//!
//! Law: when a command has ended, nothing it started is alive. A daemon that called `setsid` has
//! left the process group, so we become the parent of orphans and kill those.

use std::collections::BTreeSet;
use std::sync::{Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, kill_process, waitid, waitpid,
};

/// Direct children that somebody waits for.
static WAITED_FOR: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

const PATIENCE: Duration = Duration::from_secs(2);

/// Orphaned descendants come to us instead of to init.
pub(crate) fn adopt_orphans() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        #[cfg(target_os = "linux")]
        // Without it, a daemon outlives its command; every kernel since 3.4 has it.
        rustix::process::set_child_subreaper(Some(rustix::process::getpid())).unwrap_or_default();
    });
}

/// Protects a child from `sweep` until it is dropped.
pub(crate) fn register(child: Pid) -> Registered {
    waited_for().insert(child.as_raw_nonzero().get());
    Registered(child)
}

pub(crate) struct Registered(Pid);

impl Drop for Registered {
    fn drop(&mut self) {
        waited_for().remove(&self.0.as_raw_nonzero().get());
    }
}

fn waited_for() -> std::sync::MutexGuard<'static, BTreeSet<i32>> {
    WAITED_FOR.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Kills and reaps the children of ours that were not there `before` and that nobody waits for.
///
/// Killing one hands its own children to us, so this goes round until none is left. While another
/// command runs, its orphans cannot be told from ours; the last one to end sweeps for all.
pub(crate) fn sweep(before: &BTreeSet<i32>) {
    if waited_for().len() > 1 {
        return;
    }
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        let left: Vec<i32> = {
            let waited = waited_for();
            children().into_iter().filter(|c| !before.contains(c) && !waited.contains(c)).collect()
        };
        if left.is_empty() {
            return;
        }
        for pid in left.into_iter().filter_map(Pid::from_raw) {
            kill_process(pid, Signal::KILL).unwrap_or_default();
            // A killed process is gone in a moment; one in an uninterruptible wait is not waited for.
            reap(pid, began);
        }
    }
}

fn reap(pid: Pid, began: Instant) {
    while began.elapsed() < PATIENCE {
        match waitpid(Some(pid), WaitOptions::NOHANG) {
            Ok(None) => std::thread::sleep(Duration::from_micros(200)),
            Ok(Some(_)) | Err(_) => return,
        }
    }
}

/// Our children. The common case, none at all, costs one system call.
pub(crate) fn children() -> BTreeSet<i32> {
    let any = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    if matches!(waitid(WaitId::All, any), Err(Errno::CHILD)) {
        return BTreeSet::new();
    }
    let us = std::process::id().to_string();
    let Ok(processes) = std::fs::read_dir("/proc") else { return BTreeSet::new() };
    processes
        .filter_map(|process| process.ok()?.file_name().to_str()?.parse::<i32>().ok())
        .filter(|pid| parent_of(*pid).as_deref() == Some(us.as_str()))
        .collect()
}

/// The fourth field of `stat`; the second is a name in parentheses that may contain anything.
fn parent_of(pid: i32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let after_name = &stat[stat.rfind(')')? + 1..];
    after_name.split_whitespace().nth(1).map(str::to_owned)
}
