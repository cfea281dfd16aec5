//! Connections into a session's loopback from outside of it.
//!
//! A socket belongs to the network that it was made in, whoever connects it. So this program once more joins the
//! network and makes the sockets (`inside/loopback_sockets.rs`), and this process connects them.
//! Law: they are connected to the loopback address and to nothing else.

use std::io::{Error, ErrorKind, Result, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::fd::OwnedFd;
use rustix::net::connect;
use rustix::net::sockopt::{Timeout, set_socket_timeout};

use crate::contract::descriptors::{high_numbered_copy, receive_descriptor, send_descriptors};
use crate::contract::protocol::{CONTROL, SOCKET_IPV4, SOCKET_IPV6, SOCKETS};
use crate::outside::child::ChildProcess;
use crate::outside::reaper;
use crate::outside::session_loopback::SessionLoopback;

/// A server on the same machine that takes longer has a full queue.
const PATIENCE: Duration = Duration::from_secs(10);

/// Makes sockets by a process in the network, which ends when this is dropped.
#[derive(Debug)]
pub(crate) struct LoopbackSockets {
    /// This program.
    program: PathBuf,
    loopback: Arc<SessionLoopback>,
    /// The line to the process; none after an answer that did not come, because a later one would pass for the next.
    line: Mutex<Option<UnixStream>>,
}

impl LoopbackSockets {
    /// Starts the process, and waits until it is in the network.
    pub(crate) fn open(program: PathBuf, loopback: Arc<SessionLoopback>) -> Result<Self> {
        let sockets = Self { program, loopback, line: Mutex::default() };
        sockets.make(SOCKET_IPV4).map(|_| sockets)
    }

    fn make(&self, family: u8) -> Result<OwnedFd> {
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        let mut open = line.take().map_or_else(|| self.start(), Ok)?;
        open.write_all(&[family])?;
        let made = receive_descriptor(&open);
        let made = made.ok_or_else(|| Error::other("no socket in the session's network"))?;
        *line = Some(open);
        Ok(made)
    }

    fn start(&self) -> Result<UnixStream> {
        let (ours, theirs) = UnixStream::pair()?;
        let maker =
            || ChildProcess::start(&self.program, SOCKETS, high_numbered_copy(&theirs)?, CONTROL);
        // `bury` waits for it.
        reaper::shelter(maker)?;
        drop(theirs);
        ours.set_read_timeout(Some(PATIENCE))?;
        send_descriptors(&ours, &self.loopback.descriptors())?;
        Ok(ours)
    }

    /// A connection to a port, whichever loopback address its server listens on.
    pub(crate) fn connect(&self, port: u16) -> Result<TcpStream> {
        let first = self.connect_to(SOCKET_IPV4, (Ipv4Addr::LOCALHOST, port).into());
        match first {
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                self.connect_to(SOCKET_IPV6, (Ipv6Addr::LOCALHOST, port).into())
            }
            other => other,
        }
    }

    fn connect_to(&self, family: u8, address: SocketAddr) -> Result<TcpStream> {
        let socket = self.make(family)?;
        // On Linux the time for sending bounds the time for connecting too.
        set_socket_timeout(&socket, Timeout::Send, Some(PATIENCE))?;
        connect(&socket, &address)?;
        set_socket_timeout(&socket, Timeout::Send, None)?;
        Ok(TcpStream::from(socket))
    }
}
