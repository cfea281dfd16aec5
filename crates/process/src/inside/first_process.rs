//! The first process of new namespaces: started, given its users, ended.
//!
//! Law: it is ours, and everyone in the namespaces dies with it. It dies when the launcher outside does.

use jm_types::ignore_error;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use rustix::thread::CapabilitySet;

use super::control::report_failure;
use super::name_guard::NameGuard;
use super::own_namespaces::{clone, map_ids};
use super::process_tree::ProcessTree;
use super::step::{During, LaunchStep};
use super::supervisor;
use crate::contract::protocol::LaunchOrder;

const NEW: libc::c_int = libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP;

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

pub(super) fn await_end(pid: Pid) {
    while matches!(waitpid(Some(pid), WaitOptions::empty()), Err(rustix::io::Errno::INTR)) {}
}
