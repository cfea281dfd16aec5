//! Namespaces of our own: a command that sees its own processes, files, network and nothing else.
//!
//! Law: the first process inside is ours, and everyone inside dies with it. It dies when the
//! launcher outside does, or when the program's end of the socket closes.

use std::io::Result;

use jm_types::ignore_error;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, kill_process, pidfd_open, waitpid};
use rustix::thread::CapabilitySet;

use super::control::report_failure;
use super::name_guard::NameGuard;
use super::own_namespaces::{clone, map_ids};
use super::placeholders::Placeholders;
use super::process_tree::{ProcessTree, Remaining};
use super::ready_namespaces::ReadyNamespaces;
use super::step::{During, LaunchStep};
use super::{loopback, mounts, supervisor};
use crate::contract::layout::mount_layout;
use crate::contract::protocol::{CONTROL, LaunchOrder, given};

/// For the first process to end everything when the program is gone.
const ORPHAN_SECONDS: i64 = 4;

const NEW: libc::c_int = libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP;

pub(crate) fn launch(
    order: &LaunchOrder,
    rights: CapabilitySet,
    ready: Option<ReadyNamespaces>,
) -> LaunchStep<Remaining> {
    let placeholders = Placeholders::make(&order.rules).during("placeholders")?;
    let first = match ready.and_then(|ready| ready.take_order(order)) {
        Some(first) => first,
        None => start_first(new_network(order)?, || inside(order, rights))?,
    };
    supervisor::be_quiet().during("descriptors")?;
    await_end_or_orphaned(first).during("namespaces")?;
    drop(placeholders);
    Ok(Remaining::None)
}

/// The flag for a network of the command's own.
fn new_network(order: &LaunchOrder) -> LaunchStep<libc::c_int> {
    match (order.rules.network.is_own(), order.joins_loopback()) {
        // Before the clone, so that the command's own user namespace has no right over that network.
        (true, true) => loopback::join().map(|()| 0).during("network of the session"),
        (true, false) => Ok(libc::CLONE_NEWNET),
        (false, _) => Ok(0),
    }
}

/// Starts the first process of new namespaces, which ends with the code that `work` gives.
pub(super) fn start_first(network: libc::c_int, work: impl FnOnce() -> i32) -> LaunchStep<Pid> {
    let (go, say_go) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).during("pipe")?;
    let Some(first) = clone(NEW | network).during("namespaces")? else {
        drop(say_go);
        // The go is not given when the launcher outside could not do its part.
        let is_go = rustix::io::read(&go, &mut [0_u8; 1][..]).is_ok_and(|count| count == 1);
        drop(go);
        std::process::exit(if is_go { work() } else { 1 });
    };
    let told = map_ids(first)
        .and_then(|()| Ok(rustix::io::write(&say_go, b"g")?))
        .during("user namespace");
    if let Err(failure) = told {
        end(first);
        return Err(failure);
    }
    Ok(first)
}

/// Ends a first process, and with it everybody in its namespaces.
pub(super) fn end(first: Pid) {
    ignore_error(kill_process(first, Signal::KILL), "one that is gone has ended");
    await_end(first);
}

/// The first process of the namespaces.
fn inside(order: &LaunchOrder, rights: CapabilitySet) -> i32 {
    let built = die_with_parent().and_then(|()| build(order));
    run_inside(order, rights, built)
}

pub(super) fn die_with_parent() -> LaunchStep<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).during("parent")
}

/// Runs the command in the tree that was built, or reports why it was not.
pub(super) fn run_inside(
    order: &LaunchOrder,
    rights: CapabilitySet,
    built: LaunchStep<Option<NameGuard>>,
) -> i32 {
    let outcome =
        built.and_then(|guard| supervisor::supervise(order, ProcessTree::Namespace, guard, rights));
    match outcome {
        Ok(_) => 0,
        Err(failure) => {
            ignore_error(report_failure(&failure), "without the socket there is no way to tell");
            1
        }
    }
}

/// The file tree and the network of the command, and the guard of its protected names.
fn build(order: &LaunchOrder) -> LaunchStep<Option<NameGuard>> {
    let layout = mount_layout(&order.rules);
    mounts::build(&order.rules, &layout)?;
    if order.rules.network.is_own() && !order.joins_loopback() {
        loopback::raise().during("loopback")?;
    }
    NameGuard::new(&order.rules, &layout).during("protected names")
}

fn await_end(pid: Pid) {
    while matches!(waitpid(Some(pid), WaitOptions::empty()), Err(rustix::io::Errno::INTR)) {}
}

/// The first process watches the socket once the command runs; until then, and whatever it hangs
/// in, we do.
fn await_end_or_orphaned(first: Pid) -> Result<()> {
    let exit = pidfd_open(first, PidfdFlags::empty())?;
    let mut fds = [
        PollFd::new(&exit, PollFlags::IN),
        PollFd::from_borrowed_fd(given(CONTROL), PollFlags::RDHUP),
    ];
    loop {
        ignore_error(poll(&mut fds, None), "interrupted or not, what is there is read");
        if !fds[0].revents().is_empty() {
            break;
        }
        if !fds[1].revents().is_empty() {
            let patience = Timespec { tv_sec: ORPHAN_SECONDS, tv_nsec: 0 };
            let is_ended = poll(&mut fds[..1], Some(&patience)).is_ok_and(|count| count > 0);
            if !is_ended {
                kill_process(first, Signal::KILL)?;
            }
            break;
        }
    }
    await_end(first);
    Ok(())
}
