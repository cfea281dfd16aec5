//! Processes that a command left behind.
//!
//! Law: when a command has ended, nothing it started is alive. A daemon that called `setsid` has
//! left the process group, so we become the parent of orphans and kill those.

use std::collections::BTreeSet;
use std::sync::{Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

use jm_system::identity::{ProcessStat, all_pids};
use jm_types::{ToolError, ignore_error};
use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, WaitOptions, waitid, waitpid};

use super::child::ChildProcess;
use crate::contract::kill_failures::{self, Unended};

/// The commands that run now.
static COMMANDS: Mutex<RunningCommands> = Mutex::new(RunningCommands {
    waited_for: BTreeSet::new(),
    strangers: BTreeSet::new(),
    sheltered: BTreeSet::new(),
    leaving: BTreeSet::new(),
    is_sweep_due: false,
});

struct RunningCommands {
    /// Direct children that a thread waits for.
    waited_for: BTreeSet<i32>,
    /// Children that were there before the first of them, and are none of our business.
    strangers: BTreeSet<i32>,
    /// Children that outlive the call that started them, or wait for the next one.
    sheltered: BTreeSet<i32>,
    /// Launchers that have reported and have nothing left to do but to end.
    leaving: BTreeSet<i32>,
    /// Set when one of those that ran may have left something behind.
    is_sweep_due: bool,
}

const PATIENCE: Duration = Duration::from_secs(2);

/// Orphaned descendants come to us instead of to init.
pub(crate) fn adopt_orphans() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        #[cfg(target_os = "linux")]
        ignore_error(
            rustix::process::set_child_subreaper(Some(rustix::process::getpid())),
            "without it, a daemon outlives its command; every kernel since 3.4 has it",
        );
    });
}

/// Starts a command. No sweep can come between its start and its registration.
pub(crate) fn start(
    spawn: impl FnOnce() -> Result<ChildProcess, ToolError>,
) -> Result<(ChildProcess, RegisteredChild), ToolError> {
    let mut commands = commands();
    // What is there now is not its doing, unless others already run.
    if commands.waited_for.is_empty() {
        commands.strangers = children();
    }
    let child = spawn()?;
    let pid = child.pid();
    let number = pid.as_raw_nonzero().get();
    // It may have been there before, and waited for this.
    commands.strangers.remove(&number);
    commands.sheltered.remove(&number);
    commands.waited_for.insert(number);
    Ok((child, RegisteredChild(pid)))
}

/// Starts a child that no sweep touches; `bury` takes it in when it has ended.
pub(crate) fn shelter(
    spawn: impl FnOnce() -> std::io::Result<ChildProcess>,
) -> std::io::Result<ChildProcess> {
    let mut commands = commands();
    let child = spawn()?;
    commands.sheltered.insert(child.pid().as_raw_nonzero().get());
    Ok(child)
}

/// Takes in the sheltered and leaving children that have ended.
pub(crate) fn bury() {
    let mut commands = commands();
    commands.sheltered.retain(|pid| !has_ended(*pid));
    commands.leaving.retain(|pid| !has_ended(*pid));
}

/// Waits for the launchers that are leaving, as long as that takes at most. Others may wait for the same ones.
pub(crate) fn await_leaving() {
    let began = Instant::now();
    let awaited = commands().leaving.clone();
    while began.elapsed() < PATIENCE {
        {
            // A number is another process's once it is taken in, so that happens only to those on the list.
            let mut commands = commands();
            commands.leaving.retain(|pid| !has_ended(*pid));
            if commands.leaving.is_disjoint(&awaited) {
                return;
            }
        }
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// Takes in a child if it has ended.
fn has_ended(pid: i32) -> bool {
    let pid = Pid::from_raw(pid);
    pid.is_none_or(|pid| !matches!(waitpid(Some(pid), WaitOptions::NOHANG), Ok(None)))
}

/// Protects a child from being swept away until it is dropped.
pub(crate) struct RegisteredChild(Pid);

impl RegisteredChild {
    /// Its launcher has seen to it that no process is left, so none is looked for.
    pub(crate) fn release(self) {
        // Where others left something to sweep, they are told by the one who sweeps.
        drop(commands().end(self.0));
    }

    /// The same before the launcher itself has ended, which is taken in later.
    pub(crate) fn leave(self) {
        let mut commands = commands();
        commands.leaving.insert(self.0.as_raw_nonzero().get());
        drop(commands.end(self.0));
    }

    /// Kills and reaps what commands left behind, and names what could not be killed.
    pub(crate) fn sweep(self) -> Vec<Unended> {
        let mut commands = commands();
        commands.is_sweep_due = true;
        commands.end(self.0)
    }
}

impl Drop for RegisteredChild {
    fn drop(&mut self) {
        commands().waited_for.remove(&self.0.as_raw_nonzero().get());
    }
}

impl RunningCommands {
    /// While another command runs, its orphans cannot be told from those of this one; the last one to
    /// end sweeps for all.
    fn end(&mut self, pid: Pid) -> Vec<Unended> {
        self.waited_for.remove(&pid.as_raw_nonzero().get());
        if self.is_sweep_due && self.waited_for.is_empty() {
            self.is_sweep_due = false;
            let others = [&self.strangers, &self.sheltered, &self.leaving];
            return kill_all_but(others.into_iter().flatten().copied().collect());
        }
        Vec::new()
    }
}

fn commands() -> std::sync::MutexGuard<'static, RunningCommands> {
    COMMANDS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Killing a process hands its own children to us, so this goes round until none is left.
fn kill_all_but(mut strangers: BTreeSet<i32>) -> Vec<Unended> {
    let mut unended = Vec::new();
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        let left: Vec<i32> = looked_up().difference(&strangers).copied().collect();
        if left.is_empty() {
            return unended;
        }
        for pid in left.into_iter().filter_map(Pid::from_raw) {
            match kill_failures::kill(pid) {
                // A killed process is gone in a moment; one in an uninterruptible wait is not waited for.
                None => reap(pid, began),
                Some(refused) => {
                    strangers.insert(pid.as_raw_nonzero().get());
                    unended.push(refused);
                }
            }
        }
    }
    let left = looked_up();
    unended.extend(left.difference(&strangers).copied().map(Unended::held));
    unended
}

fn reap(pid: Pid, began: Instant) {
    while began.elapsed() < PATIENCE {
        match waitpid(Some(pid), WaitOptions::NOHANG) {
            Ok(None) => std::thread::sleep(Duration::from_micros(200)),
            Ok(Some(_)) | Err(_) => return,
        }
    }
}

/// Our children, as the kernel lists them. One that comes while it does may be missing.
fn children() -> BTreeSet<i32> {
    if has_children() { listed().unwrap_or_else(looked_up) } else { BTreeSet::new() }
}

/// The common case, none at all, costs one system call.
fn has_children() -> bool {
    let any = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::All, any), Err(Errno::CHILD))
}

/// `None` where the kernel keeps no such list.
fn listed() -> Option<BTreeSet<i32>> {
    let mut all = BTreeSet::new();
    for thread in std::fs::read_dir("/proc/self/task").ok()?.filter_map(Result::ok) {
        match std::fs::read_to_string(thread.path().join("children")) {
            Ok(list) => {
                all.extend(list.split_whitespace().filter_map(|pid| pid.parse::<i32>().ok()))
            }
            // A thread may have ended since; the kernel without the list has it for none.
            Err(_) if thread.path().exists() => return None,
            Err(_) => {}
        }
    }
    Some(all)
}

/// Our children, by asking every process.
fn looked_up() -> BTreeSet<i32> {
    if !has_children() {
        return BTreeSet::new();
    }
    let us = std::process::id();
    let is_ours = |pid: &u32| ProcessStat::read(*pid).is_some_and(|stat| stat.parent == us);
    all_pids().filter(is_ours).map(u32::cast_signed).collect()
}
