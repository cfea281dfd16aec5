//! Sockets of a session's loopback for the daemon of a job, which publishes a port of it (`setns`, `SCM_RIGHTS`).
//!
//! Law: this process joins the network, makes a socket for each byte that asks for one, and hands it out. It runs
//! nothing, connects to nothing, and ends when the daemon is gone.

use std::io::{ErrorKind, Read, Result, Write};

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use super::control::control;
use super::limits;
use super::loopback::join_namespaces;
use crate::contract::descriptors::{receive_descriptors, send_descriptor};
use crate::contract::protocol::{SOCKET_IPV4, SOCKET_IPV6};

/// Makes sockets until nobody asks any more.
pub(super) fn serve() -> Result<()> {
    limits::drop_inherited();
    // It holds no directory that a person may want to remove.
    rustix::process::chdir("/")?;
    let mut control = control();
    let namespaces = receive_descriptors(&control);
    let [user, network] = namespaces.as_slice() else { return Err(ErrorKind::InvalidData.into()) };
    join_namespaces(user, network)?;
    drop(namespaces);
    let mut wanted = [0_u8; 1];
    while control.read(&mut wanted)? > 0 {
        let family = match wanted[0] {
            SOCKET_IPV4 => AddressFamily::INET,
            SOCKET_IPV6 => AddressFamily::INET6,
            _ => return Err(ErrorKind::InvalidData.into()),
        };
        match socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None) {
            Ok(socket) => send_descriptor(&control, socket)?,
            // A byte without a descriptor says that there is none.
            Err(_) => control.write_all(b"n")?,
        }
    }
    Ok(())
}
