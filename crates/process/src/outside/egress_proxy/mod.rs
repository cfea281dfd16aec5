//! The egress proxy: the one way from a command to the hosts that were listed for it.
//!
//! A proxy for HTTP that listens where the command is and connects from where we are. It resolves
//! names itself and connects to the address that it has judged. It lives as long as the command.
//! Law: what the list does not name is never connected to, and what was refused is remembered.

mod address;
mod client_hello;
mod framing;
mod request;
mod serve;
mod tunnel;

use std::io::Result;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD as STANDARD;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::OwnedFd;

use super::refusal::Refusal;
use super::tcp::connections::{Connection, ConnectionServer};
use crate::contract::descriptors::receive_descriptor;
use jm_types::hosts::HostList;

const MOST_REFUSALS: usize = 8;

/// At one time; more wait.
const MOST_CONNECTIONS: usize = 100;

/// The resolver of names.
type Resolve = fn(&str, u16) -> Result<Vec<SocketAddr>>;

#[derive(Debug)]
pub(crate) struct EgressProxy {
    shared: Arc<ProxyShared>,
    /// Dropped with the proxy, it closes every connection.
    _connections: ConnectionServer,
}

/// The state that all connections of a proxy share.
#[derive(Debug)]
struct ProxyShared {
    list: HostList,
    /// The credentials of a request where others than the command can reach the proxy.
    pass: Option<String>,
    resolve: Resolve,
    /// For the head of a request, and for each attempt to connect.
    patience: Duration,
    refused: Mutex<Vec<Refusal>>,
}

impl EgressProxy {
    /// The launcher sends the listening socket through the descriptor that is returned.
    pub(crate) fn open(list: HostList, pass: Option<&str>) -> Result<(Self, OwnedFd)> {
        let resolve = |host: &str, port| Ok((host, port).to_socket_addrs()?.collect());
        Self::with(list, pass, resolve, Duration::from_secs(10))
    }

    fn with(
        list: HostList,
        pass: Option<&str>,
        resolve: Resolve,
        patience: Duration,
    ) -> Result<(Self, OwnedFd)> {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        let credentials = |pass: &str| format!("Basic {}", STANDARD.encode(pass));
        let pass = pass.map(credentials);
        let shared =
            Arc::new(ProxyShared { list, pass, resolve, patience, refused: Mutex::default() });
        let kept = Arc::clone(&shared);
        let connections = ConnectionServer::start(
            "egress proxy",
            MOST_CONNECTIONS,
            move |woken| receive_listener(&ours.into(), woken),
            move |connection, client| ProxyConnection { shared: &kept, connection }.serve(client),
        )?;
        Ok((Self { shared, _connections: connections }, theirs.into()))
    }

    pub(crate) fn refusals(&self) -> ProxyRefusals {
        ProxyRefusals(Arc::clone(&self.shared))
    }
}

/// The refusals of a proxy, for a reader while it is open.
#[derive(Debug)]
pub(crate) struct ProxyRefusals(Arc<ProxyShared>);

impl ProxyRefusals {
    /// Each once, the first few.
    pub(crate) fn all(&self) -> Vec<Refusal> {
        self.0.refused().clone()
    }
}

impl ProxyShared {
    fn refused(&self) -> MutexGuard<'_, Vec<Refusal>> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note_refused(&self, wanted: Refusal) {
        let mut refused = self.refused();
        if refused.len() < MOST_REFUSALS && !refused.contains(&wanted) {
            refused.push(wanted);
        }
    }
}

/// The program's side: the listening socket, once the launcher has opened it. `None` if it never
/// does, or if `woken` says that it is not wanted any more.
fn receive_listener(from: &OwnedFd, woken: &OwnedFd) -> Option<TcpListener> {
    let mut fds = [PollFd::new(from, PollFlags::IN), PollFd::new(woken, PollFlags::IN)];
    while matches!(poll(&mut fds, None), Err(rustix::io::Errno::INTR)) {}
    if fds[0].revents().is_empty() {
        return None;
    }
    receive_descriptor(from).map(TcpListener::from)
}

/// One connection to a proxy.
struct ProxyConnection<'a> {
    shared: &'a ProxyShared,
    connection: &'a Connection,
}

#[cfg(test)]
mod tests;
