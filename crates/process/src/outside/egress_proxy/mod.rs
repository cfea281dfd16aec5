//! The egress proxy: the one way from a command to the hosts that were listed for it.
//!
//! A proxy for HTTP that listens where the command is and connects from where we are. It resolves
//! names itself and connects to the address that it has judged. It lives as long as the command.
//! Law: what the list does not name is never connected to, and what was refused is remembered.

mod address;
mod client_hello;
mod framing;
mod relay;
mod request;
mod serve;

use std::collections::BTreeMap;
use std::io::Result;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD as STANDARD;
use jm_types::ignore_error;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::OwnedFd;
use rustix::pipe::PipeFlags;

use super::refusal::Refusal;
use crate::contract::descriptors::receive_descriptor;
use jm_types::hosts::HostList;

/// At one time; more wait.
const MOST_CONNECTIONS: usize = 100;
const MOST_REFUSALS: usize = 8;
/// For connections to notice that it is over. One that is just resolving a name cannot be
/// interrupted: it finds out by itself, and touches nothing.
const PARTING: Duration = Duration::from_millis(500);

/// The resolver of names.
type Resolve = fn(&str, u16) -> Result<Vec<SocketAddr>>;

#[derive(Debug)]
pub(crate) struct EgressProxy {
    shared: Arc<ProxyShared>,
    acceptor: Option<JoinHandle<()>>,
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
    state: Mutex<ProxyState>,
    /// A connection has ended.
    ended: Condvar,
    is_closing: AtomicBool,
    /// Wakes the thread that accepts.
    wake: OwnedFd,
}

#[derive(Debug, Default)]
struct ProxyState {
    /// Both ends of every connection, by its number.
    connections: BTreeMap<u64, Vec<Arc<TcpStream>>>,
    next: u64,
    refused: Vec<Refusal>,
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
        let (woken, wake) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        let credentials = |pass: &str| format!("Basic {}", STANDARD.encode(pass));
        let shared = Arc::new(ProxyShared {
            list,
            pass: pass.map(credentials),
            resolve,
            patience,
            state: Mutex::default(),
            ended: Condvar::new(),
            is_closing: AtomicBool::new(false),
            wake,
        });
        let kept = Arc::clone(&shared);
        let acceptor =
            std::thread::Builder::new().name("egress proxy".into()).spawn(move || {
                if let Some(listener) = receive_listener(&ours.into(), &woken) {
                    accept(&kept, &listener, &woken);
                }
            })?;
        Ok((Self { shared, acceptor: Some(acceptor) }, theirs.into()))
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
        self.0.state().refused.clone()
    }
}

impl Drop for EgressProxy {
    fn drop(&mut self) {
        self.shared.is_closing.store(true, Ordering::SeqCst);
        self.shared.wake();
        if let Some(acceptor) = self.acceptor.take() {
            ignore_error(acceptor.join(), "it has ended, by a panic or not");
        }
        let mut state = self.shared.state();
        for end in state.connections.values().flatten() {
            ignore_error(
                end.shutdown(Shutdown::Both),
                "one that is closed already is what we want",
            );
        }
        let until = std::time::Instant::now() + PARTING;
        while !state.connections.is_empty() {
            let left = until.saturating_duration_since(std::time::Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.shared.ended.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl ProxyShared {
    fn state(&self) -> MutexGuard<'_, ProxyState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        ignore_error(rustix::io::write(&self.wake, b"w"), "a full pipe has woken it already");
    }

    /// Remembers both ends, so that they can be closed from outside; `false` if it is over.
    fn remember(&self, number: u64, end: &Arc<TcpStream>) -> bool {
        let mut state = self.state();
        state.connections.entry(number).or_default().push(Arc::clone(end));
        !self.is_closing.load(Ordering::SeqCst)
    }

    fn note_refused(&self, wanted: Refusal) {
        let mut state = self.state();
        if state.refused.len() < MOST_REFUSALS && !state.refused.contains(&wanted) {
            state.refused.push(wanted);
        }
    }
}

/// Takes connections in until the proxy closes.
fn accept(shared: &Arc<ProxyShared>, listener: &TcpListener, woken: &OwnedFd) {
    if listener.set_nonblocking(true).is_err() {
        return;
    }
    while !shared.is_closing.load(Ordering::SeqCst) {
        let has_room = shared.state().connections.len() < MOST_CONNECTIONS;
        let mut fds = vec![PollFd::new(woken, PollFlags::IN)];
        if has_room {
            fds.push(PollFd::new(listener, PollFlags::IN));
        }
        ignore_error(
            poll(&mut fds, None),
            "interrupted or not, the next round finds out what happened",
        );
        let is_woken = !fds[0].revents().is_empty();
        if is_woken {
            let read = rustix::io::read(woken, &mut [0_u8; 64][..]);
            ignore_error(read, "what stays in the pipe wakes it once more");
        }
        if has_room && let Ok((client, _)) = listener.accept() {
            begin(shared, client);
        }
    }
}

/// A thread for each connection: a slow one keeps no other waiting.
fn begin(shared: &Arc<ProxyShared>, client: TcpStream) {
    if client.set_nonblocking(false).is_err() {
        return;
    }
    let client = Arc::new(client);
    let number = {
        let mut state = shared.state();
        state.next += 1;
        state.next
    };
    shared.remember(number, &client);
    let one = ProxyConnection { shared: Arc::clone(shared), number };
    let thread = std::thread::Builder::new().name("proxy client".into());
    let started = thread.spawn(move || one.serve(&client));
    ignore_error(started, "without a thread the connection is closed, and forgotten with `one`");
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

/// One connection; dropped, it is forgotten.
struct ProxyConnection {
    shared: Arc<ProxyShared>,
    number: u64,
}

impl Drop for ProxyConnection {
    fn drop(&mut self) {
        self.shared.state().connections.remove(&self.number);
        self.shared.ended.notify_all();
        self.shared.wake();
    }
}

#[cfg(test)]
mod tests;
