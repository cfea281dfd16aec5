//! The daemon's side of the socket in a job's folder (`SO_PEERCRED`).
//!
//! Law: only processes of the same user are answered, one question each, and none can hold the daemon
//! up for long.

use std::io::{Error, ErrorKind, Result};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

use jm_types::ignore_error;
use rustix::fd::AsRawFd;

use super::protocol::{JobAnswer, JobRequest};
use super::shared::{DaemonShared, lock};
use crate::contract::ending::CommandEnding;
use crate::contract::message::{receive, send};

const PATIENCE: Duration = Duration::from_millis(500);

const GONE: &str = "a client that goes away in the middle of a request has none";

pub(super) fn serve(listener: &UnixListener, shared: &DaemonShared) {
    for stream in listener.incoming() {
        match stream {
            Ok(stream) => {
                let _answering = lock(&shared.answering);
                ignore_error(answer(&stream, shared), GONE);
            }
            // Out of descriptors, perhaps; that passes.
            Err(_) => std::thread::sleep(PATIENCE),
        }
    }
}

fn answer(stream: &UnixStream, shared: &DaemonShared) -> Result<()> {
    if peer(stream)? != rustix::process::geteuid().as_raw() {
        return Ok(());
    }
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let answer = match receive(stream)? {
        JobRequest::Write(typed) => shared.write(&typed),
        JobRequest::Screen => {
            JobAnswer::Screen(shared.screen.as_ref().map(|screen| lock(screen).text()))
        }
        JobRequest::RefusedByProxy => JobAnswer::RefusedByProxy(shared.refused_by_proxy()),
        JobRequest::Loopback => return shared.hand_on_loopback(stream),
        JobRequest::Publish(port) => match shared.publisher.publish(port) {
            Ok(()) => JobAnswer::Published,
            Err(error) if error.kind() == ErrorKind::AddrInUse => JobAnswer::PortTaken,
            Err(error) => JobAnswer::Refused(error.to_string()),
        },
        JobRequest::Stop => {
            shared.stop(CommandEnding::Stopped);
            JobAnswer::Stopping
        }
    };
    send(stream, &answer)
}

/// The user at the other end.
#[allow(unsafe_code)]
fn peer(stream: &UnixStream) -> Result<u32> {
    let mut who = libc::ucred { pid: 0, uid: u32::MAX, gid: u32::MAX };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `who`, which has that size, and the length
    // to `length`; both live on this stack.
    let answer = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut who).cast(),
            &raw mut length,
        )
    };
    if answer == 0 { Ok(who.uid) } else { Err(Error::last_os_error()) }
}
