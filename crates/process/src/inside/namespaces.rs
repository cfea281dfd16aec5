//! Namespaces of our own: a command that sees its own processes, files, network and nothing else.
//!
//! Law: the first process inside is ours, and everyone inside dies with it. It dies when the
//! launcher outside does, or when the program's end of the socket closes.

use std::io::Result;

use jm_types::ignore_error;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getegid, geteuid, kill_process, pidfd_open, waitpid,
};
use rustix::thread::CapabilitySet;

use super::control::report_failure;
use super::name_guard::NameGuard;
use super::placeholders::Placeholders;
use super::process_tree::{ProcessTree, Remaining};
use super::step::{During, LaunchStep};
use super::{mounts, supervisor};
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

pub(crate) fn launch(order: &LaunchOrder, rights: CapabilitySet) -> LaunchStep<Remaining> {
    let placeholders = Placeholders::make(&order.rules).during("placeholders")?;
    let (go, say_go) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).during("pipe")?;
    let network = if order.rules.network.is_own() { libc::CLONE_NEWNET } else { 0 };
    let Some(first) = clone(NEW | network).during("namespaces")? else {
        drop(say_go);
        std::mem::forget(placeholders);
        // The go is not given when the launcher outside could not do its part.
        let is_go = rustix::io::read(&go, &mut [0_u8; 1][..]).is_ok_and(|count| count == 1);
        std::process::exit(if is_go { inside(order, rights) } else { 1 });
    };
    let mapped = map_ids(first).during("user namespace");
    if let Err(failure) = mapped {
        ignore_error(kill_process(first, Signal::KILL), "one that is gone has ended");
        await_end(first);
        return Err(failure);
    }
    rustix::io::write(&say_go, b"g").during("namespaces")?;
    supervisor::be_quiet().during("descriptors")?;
    await_end_or_orphaned(first).during("namespaces")?;
    drop(placeholders);
    Ok(Remaining::None)
}

/// The first process of the namespaces.
fn inside(order: &LaunchOrder, rights: CapabilitySet) -> i32 {
    let outcome = rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .during("parent")
        .and_then(|()| build(order))
        .and_then(|guard| supervisor::supervise(order, ProcessTree::Namespace, guard, rights));
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
    if order.rules.network.is_own() {
        raise_loopback().during("loopback")?;
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

/// Like fork, into new namespaces. `None` in the child.
#[allow(unsafe_code)]
fn clone(flags: libc::c_int) -> Result<Option<Pid>> {
    // SAFETY: without a stack and without shared memory this is a fork. The launcher has one
    // thread, so no lock is held in the child.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags | libc::SIGCHLD, 0, 0, 0, 0) };
    match i32::try_from(pid) {
        Ok(0) => Ok(None),
        Ok(pid) if pid > 0 => Ok(Pid::from_raw(pid)),
        _ => Err(std::io::Error::last_os_error()),
    }
}

/// Everyone inside is who they are outside. A superuser's files may belong to anybody, so they map
/// all users where they may.
fn map_ids(first: Pid) -> Result<()> {
    let write = |name: &str, text: &str| {
        std::fs::write(format!("/proc/{}/{name}", first.as_raw_nonzero()), text)
    };
    let everyone = "0 0 4294967295\n";
    if geteuid().is_root() && write("uid_map", everyone).is_ok() {
        return write("gid_map", everyone);
    }
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    write("setgroups", "deny\n")?;
    write("uid_map", &format!("{user} {user} 1\n"))?;
    write("gid_map", &format!("{group} {group} 1\n"))
}

/// A network of its own has a loopback that is down at first.
#[allow(unsafe_code)]
fn raise_loopback() -> Result<()> {
    use rustix::fd::{AsRawFd, FromRawFd, OwnedFd};
    // SAFETY: the request is zeroed and then holds the interface's name and the flag, which is
    // what this ioctl reads; the socket is new and ours.
    unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        if socket < 0 {
            return Err(std::io::Error::last_os_error());
        }
        let socket = OwnedFd::from_raw_fd(socket);
        let mut request: libc::ifreq = std::mem::zeroed();
        request.ifr_name[0] = b'l' as libc::c_char;
        request.ifr_name[1] = b'o' as libc::c_char;
        request.ifr_ifru.ifru_flags = libc::IFF_UP as libc::c_short;
        match libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &request) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    }
}
