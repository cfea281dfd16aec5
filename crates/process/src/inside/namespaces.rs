//! Namespaces of our own: a command that sees its own processes, files, network and nothing else.
//!
//! Law: the first process inside is ours, and everyone inside dies with it. It dies when the
//! launcher outside does, or when the program's end of the socket closes.

use std::io::Result;

use jm_types::ignore_error;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use rustix::thread::CapabilitySet;

use super::first_process::{await_end, die_with_parent, run_inside, start_first};
use super::name_guard::NameGuard;
use super::placeholders::Placeholders;
use super::process_tree::Remaining;
use super::ready_namespaces::ReadyNamespaces;
use super::step::{During, LaunchStep};
use super::{loopback, mounts, supervisor};
use crate::contract::layout::mount_layout;
use crate::contract::protocol::{CONTROL, LaunchOrder, given};

/// For the first process to end everything when the program is gone.
const ORPHAN_SECONDS: i64 = 4;

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

/// The first process of the namespaces.
fn inside(order: &LaunchOrder, rights: CapabilitySet) -> i32 {
    let built = die_with_parent().and_then(|()| build(order));
    run_inside(order, rights, built)
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
