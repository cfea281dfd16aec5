//! One command from its start to the end of its last process.
//!
//! Law: whatever happens first decides: the command ends, its time is up, the program asks, or the
//! program is gone. Then everything it started is ended, what happened is written down, and only
//! then it is reported.

use std::ffi::OsString;
use std::io::{Error, Read, Result};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use jm_system::descriptors::open_dev_null;
use jm_system::own_program::ScratchDir;
use jm_system::small_file::{Durability, replace_small_file};
use jm_types::ignore_error;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Pid, set_dumpable_behavior};
use rustix::thread::CapabilitySet;

use super::control::control;
use super::landlock::{self, LandlockOpenings};
use super::name_guard::NameGuard;
use super::process_tree::{self, ProcessTree, Remaining};
use super::proxy_listener::ProxyListener;
use super::rename_calls::RenameCalls;
use super::step::{During, LaunchStep, StepFailure};
use super::{limits, pty, seccomp};
use crate::contract::confinement_rules::Backend;
use crate::contract::descriptors::{receive_descriptor, send_descriptor};
use crate::contract::ending::{CommandEnding, Exit};
use crate::contract::message::send;
use crate::contract::protocol::{
    CONTROL, COUNTERS, DIRECTORY, LaunchOrder, LaunchReport, RECORDS, TERMINAL, given,
};
use crate::contract::record::{CommandRecord, running_lock};

pub(crate) fn supervise(
    order: &LaunchOrder,
    tree: ProcessTree,
    mut guard: Option<NameGuard>,
    rights: CapabilitySet,
) -> LaunchStep<Remaining> {
    let began = Instant::now();
    let running = order.record.as_deref().map(claim).transpose().during("record")?;
    let children = ended_children().during("signals")?;
    let scratch = match order.rules.backend {
        Backend::Landlock => {
            let scratch = ScratchDir::within(&temporary(order), "journeyman");
            Some(scratch.during("temporary directory")?)
        }
        Backend::Namespaces | Backend::Bwrap | Backend::None => None,
    };
    let listener = ProxyListener::open(order).during("door to listed hosts")?;
    let (command, renames) = start(order, rights, scratch.as_ref(), listener.as_ref())?;
    be_quiet().during("descriptors")?;
    // No process of the same user may look into us; the command did not inherit this.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).during("hardening")?;
    let deadline = began + Duration::from_millis(order.lifetime_ms);
    let watched = Instant::now() + NameGuard::DELAY;
    let ended = until_it_ends(command, &children, guard.as_mut(), [watched, deadline]);
    renames.iter().for_each(RenameCalls::stop);
    let left = tree.end();
    renames.into_iter().for_each(RenameCalls::finish);
    guard.iter().for_each(NameGuard::finish);
    // While it is still said to run: the kernel takes its time to remove the watches.
    drop(guard);
    let elapsed_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    record(order, ended, elapsed_ms).during("record")?;
    drop(scratch);
    drop(running);
    ignore_error(
        send(control(), &LaunchReport::Ended(ended, left.unended())),
        "a program that is gone does not want to hear it",
    );
    Ok(left)
}

/// The directory in which the command would put its temporary files.
fn temporary(order: &LaunchOrder) -> PathBuf {
    let named = order.environment.iter().find(|(name, _)| name == "TMPDIR");
    named.map_or_else(|| PathBuf::from("/tmp"), |(_, place)| PathBuf::from(place))
}

/// Starts the command in its confinement. They are built in the child, between fork and exec.
#[allow(unsafe_code)]
fn start(
    order: &LaunchOrder,
    rights: CapabilitySet,
    scratch: Option<&ScratchDir>,
    listener: Option<&ProxyListener>,
) -> LaunchStep<(Pid, Option<RenameCalls>)> {
    let (told, tell) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).during("pipe")?;
    let program = order.words.first().cloned().unwrap_or_default();
    let mut command = Command::new(&program);
    command.args(order.words.iter().skip(1));
    command.env_clear().envs(order.environment.iter().map(|(name, value)| (name, value)));
    for name in ["TMPDIR", "TMP", "TEMP"] {
        match scratch {
            Some(scratch) => command.env(name, scratch.path()),
            // There is a `/tmp` of its own; another place may not be there.
            None if order.rules.backend.has_own_tree() => command.env_remove(name),
            None => &mut command,
        };
    }
    command.envs(
        listener.into_iter().flat_map(ProxyListener::variables).map(|(name, value)| (name, value)),
    );
    let port = listener.map(|listener| listener.port);
    open_terminal(order, &mut command).during("terminal")?;
    let mut order = order.clone();
    order.rules.writable.extend(scratch.map(|scratch| scratch.path().to_owned()));
    let rules = order.rules.clone();
    let (ours, theirs) = UnixStream::pair().during("socket")?;
    let prepare = move || {
        let entered = enter(&order, rights, port).and_then(|listener| match listener {
            Some(listener) => send_descriptor(&theirs, listener).during("listener of renames"),
            None => Ok(()),
        });
        entered.map_err(|failure| {
            ignore_error(
                rustix::io::write(&tell, failure.step.as_bytes()),
                "if the reason cannot be told, the error alone is",
            );
            failure.error
        })
    };
    // SAFETY: the launcher has one thread, so after the fork no lock is held by another; memory may
    // be allocated and any function called.
    unsafe { command.pre_exec(prepare) };
    let spawned = command.spawn();
    // The closure holds the writing end.
    drop(command);
    match spawned {
        Ok(child) => {
            let listener = rules.layer.as_ref().and_then(|_| receive_descriptor(&ours));
            let serve = |listener| RenameCalls::serve(listener, &rules, rights);
            // If it fails, the command ends with us, and nothing of its layer is kept.
            let renames = listener.map(serve).transpose().during("thread for renames")?;
            Ok((Pid::from_child(&child), renames.flatten()))
        }
        Err(error) => {
            let mut step = String::new();
            let read = std::fs::File::from(told).read_to_string(&mut step);
            ignore_error(read, "without the step the error alone is told");
            // Nothing was in the way but the program itself.
            let error = if step.is_empty() {
                Error::new(error.kind(), format!("{}: {error}", program.display()))
            } else {
                error
            };
            Err(StepFailure { step, error })
        }
    }
}

/// The last things before the command: from here on nothing is allowed that the command is not.
fn enter(
    order: &LaunchOrder,
    rights: CapabilitySet,
    port: Option<u16>,
) -> LaunchStep<Option<OwnedFd>> {
    let rules = &order.rules;
    limits::unblock_signals();
    stand_apart(order)?;
    if rules.backend.has_own_tree() {
        rustix::process::chdir(&*order.directory).during("working directory")?
    } else {
        rustix::process::fchdir(given(DIRECTORY)).during("working directory")?
    }
    limits::close_descriptors();
    limits::limit(&rules.resources).during("resource limits")?;
    if rules.backend == Backend::None {
        return Ok(None);
    }
    limits::keep_only(rights).during("capabilities")?;
    rustix::thread::set_no_new_privs(true).during("no_new_privs")?;
    let terminal = order.terminal.and_then(|_| own_terminal());
    landlock::enter(rules, &LandlockOpenings { port, terminal })?;
    seccomp::enter(rules).during("seccomp")
}

/// A session or a group of its own, and its terminal where it shall have one.
fn stand_apart(order: &LaunchOrder) -> LaunchStep<()> {
    if order.terminal.is_none() && !order.rules.backend.has_own_tree() {
        // In the launcher's session, which has no terminal: what outlives us both is known by it.
        return rustix::process::setpgid(None, None).during("process group");
    }
    rustix::process::setsid().during("session")?;
    match order.terminal {
        Some(_) => rustix::process::ioctl_tiocsctty(rustix::stdio::stdin()).during("terminal"),
        None => Ok(()),
    }
}

fn own_terminal() -> Option<PathBuf> {
    let name = rustix::termios::ttyname(rustix::stdio::stdin(), Vec::new()).ok()?;
    Some(PathBuf::from(OsString::from_vec(name.into_bytes())))
}

/// Opens a terminal where the command finds it by its name. Our end goes to the program.
fn open_terminal(order: &LaunchOrder, command: &mut Command) -> Result<()> {
    let Some(size) = order.terminal else { return Ok(()) };
    let (ours, theirs) = pty::open(size)?;
    send_descriptor(given(TERMINAL), ours)?;
    command.stdin(theirs.try_clone()?).stdout(theirs.try_clone()?).stderr(theirs);
    Ok(())
}

/// The command alone holds its output: otherwise its pipes would not close with it.
pub(crate) fn be_quiet() -> Result<()> {
    let null = open_dev_null()?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    Ok(())
}

/// A descriptor that becomes readable when a child has ended.
#[allow(unsafe_code)]
fn ended_children() -> Result<OwnedFd> {
    use rustix::fd::FromRawFd;
    // SAFETY: the set is initialised before it is used and lives on this stack; the descriptor is
    // new and ours. What is blocked here is unblocked in the child.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, libc::SIGCHLD);
        libc::sigprocmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
        let number = libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        if number < 0 {
            return Err(std::io::Error::last_os_error());
        }
        Ok(OwnedFd::from_raw_fd(number))
    }
}

fn until_it_ends(
    command: Pid,
    children: &OwnedFd,
    mut guard: Option<&mut NameGuard>,
    [watched, deadline]: [Instant; 2],
) -> CommandEnding {
    loop {
        while let Some((pid, status)) = process_tree::ended() {
            if pid == command {
                let exit = Exit::of(status.exit_status(), status.terminating_signal());
                return CommandEnding::Exited(exit);
            }
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return CommandEnding::TimedOut;
        }
        let unwatched = watched.saturating_duration_since(Instant::now());
        if unwatched.is_zero() {
            guard.as_deref_mut().into_iter().for_each(NameGuard::watch);
        }
        let left = if unwatched.is_zero() { left } else { left.min(unwatched) };
        let patience = guard.as_ref().and_then(|guard| guard.patience());
        let left = patience.map_or(left, |patience| left.min(patience));
        let timeout = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(left.subsec_nanos()),
        };
        // Where nothing is watched, the same descriptor a second time.
        let events = guard.as_ref().and_then(|guard| guard.events());
        let events = events.unwrap_or(children.as_fd());
        let mut fds = [
            PollFd::new(children, PollFlags::IN),
            PollFd::from_borrowed_fd(given(CONTROL), PollFlags::IN),
            PollFd::from_borrowed_fd(events, PollFlags::IN),
        ];
        ignore_error(
            poll(&mut fds, Some(&timeout)),
            "interrupted or not, the next round finds out what happened",
        );
        let [child, program, _] = fds.each_ref().map(|fd| !fd.revents().is_empty());
        guard.as_deref_mut().into_iter().for_each(NameGuard::look);
        if child {
            drain(children);
        }
        if program {
            return asked();
        }
    }
}

/// Empties the signalfd. What one signal said is known from the process table.
fn drain(children: &OwnedFd) {
    let mut said = [0_u8; 1024];
    while rustix::io::read(children, &mut said[..]).is_ok_and(|count| count > 0) {}
}

/// The socket has something: a request, or the end of the program.
fn asked() -> CommandEnding {
    let mut byte = [0_u8; 1];
    loop {
        match rustix::io::read(given(CONTROL), &mut byte[..]) {
            Ok(0) => return CommandEnding::Orphaned,
            Ok(_) => return CommandEnding::Stopped,
            Err(Errno::INTR) => {}
            Err(_) => return CommandEnding::Orphaned,
        }
    }
}

/// The lock that says that a launcher still supervises the command; it ends with this process.
struct RunningClaim {
    name: String,
    _lock: OwnedFd,
}

fn claim(record: &str) -> Result<RunningClaim> {
    let name = running_lock(record);
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let lock = rustix::fs::openat(given(RECORDS), &name, flags, Mode::RUSR | Mode::WUSR)?;
    rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
    Ok(RunningClaim { name, _lock: lock })
}

impl Drop for RunningClaim {
    fn drop(&mut self) {
        ignore_error(
            rustix::fs::unlinkat(given(RECORDS), &self.name, AtFlags::empty()),
            "if it stays, its lock is gone, which says the same",
        );
    }
}

/// Whole or not at all. Not synced: after a power cut nothing can be said anyway.
fn record(order: &LaunchOrder, ended: CommandEnding, elapsed_ms: u64) -> Result<()> {
    let Some(name) = &order.record else { return Ok(()) };
    let mut counters = [0_u8; 16];
    rustix::io::pread(given(COUNTERS), &mut counters[..], 0)?;
    let number = |at: usize| counters[at..at + 8].try_into().map_or(0, u64::from_ne_bytes);
    let (stdout_bytes, stderr_bytes) = (number(0), number(8));
    let record = CommandRecord { ended, elapsed_ms, stdout_bytes, stderr_bytes };
    let text = serde_json::to_vec(&record)?;
    replace_small_file(given(RECORDS), name, &text, Durability::ProcessEnd)
}
