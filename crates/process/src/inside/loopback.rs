//! A session's loopback: a network namespace in which its commands and background processes reach each other, and
//! nothing else (`CLONE_NEWUSER`, `CLONE_NEWNET`, `setns`).
//!
//! Law: one process of ours makes it, hands its descriptors out and ends. It lives as long as a process is in it or holds
//! those descriptors. Only processes of ours join it, before they give up any right; a command has none over it.

use std::fs::File;
use std::io::{Error, Result};

use rustix::fd::AsFd;
use rustix::process::{WaitOptions, waitpid};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::control::control;
use super::own_namespaces::{clone, map_ids};
use crate::contract::descriptors::send_descriptors;
use crate::contract::protocol::{NETWORK_NAMESPACE, USER_NAMESPACE, given};

/// Makes the namespaces in a child, because the ids of a user namespace are best mapped from outside.
pub(super) fn make() -> Result<()> {
    let (go, say_go) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let Some(child) = clone(libc::CLONE_NEWUSER | libc::CLONE_NEWNET)? else {
        drop(say_go);
        // Without the go there is an end of the pipe instead: the maker could not map the ids.
        let is_go = rustix::io::read(&go, &mut [0_u8; 1][..]).is_ok_and(|count| count == 1);
        let is_made = is_go && raise().and_then(|()| hand_out()).is_ok();
        std::process::exit(i32::from(!is_made));
    };
    drop(go);
    let mapped = map_ids(child).and_then(|()| Ok(rustix::io::write(&say_go, b"g")?));
    drop(say_go);
    let ended = waitpid(Some(child), WaitOptions::empty())?;
    mapped?;
    match ended.and_then(|(_, status)| status.exit_status()) {
        Some(0) => Ok(()),
        _ => Err(Error::other("the namespaces could not be made")),
    }
}

fn hand_out() -> Result<()> {
    let user = File::open("/proc/self/ns/user")?;
    let network = File::open("/proc/self/ns/net")?;
    send_descriptors(control(), &[user.as_fd(), network.as_fd()])
}

/// Joins the session's network with the descriptors that a launcher is given.
pub(super) fn join() -> Result<()> {
    join_namespaces(given(USER_NAMESPACE), given(NETWORK_NAMESPACE))
}

/// Joins a network, and first the user namespace that gives the right to do so.
pub(super) fn join_namespaces(user: impl AsFd, network: impl AsFd) -> Result<()> {
    move_into_link_name_space(user.as_fd(), Some(LinkNameSpaceType::User))?;
    Ok(move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network))?)
}

/// A network of its own has a loopback that is down at first.
#[allow(unsafe_code)]
pub(super) fn raise() -> Result<()> {
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
