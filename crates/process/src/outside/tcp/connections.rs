//! TCP connections that are accepted and served, each on a thread of its own.
//!
//! Law: at most so many at one time, more wait. When the server is dropped it accepts none, and both ends of
//! every connection are closed.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Result};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use jm_types::ignore_error;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::pipe::PipeFlags;

/// For connections to notice that it is over. One that is just resolving a name cannot be
/// interrupted: it finds out by itself, and touches nothing.
const PARTING: Duration = Duration::from_millis(500);
/// Between two attempts where the system has no descriptor for a connection.
const AGAIN: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// Serves one connection, from its client to its end.
type Serve = dyn Fn(&Connection, &Arc<TcpStream>) + Send + Sync;

/// A listener with the threads of its connections.
#[derive(Debug)]
pub(crate) struct ConnectionServer {
    table: Arc<ConnectionTable>,
    acceptor: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct ConnectionTable {
    state: Mutex<TableState>,
    /// A connection has ended.
    ended: Condvar,
    is_closing: AtomicBool,
    /// Wakes the thread that accepts.
    wake: OwnedFd,
}

#[derive(Debug, Default)]
struct TableState {
    /// Both ends of every connection, by its number.
    connections: BTreeMap<u64, Vec<Arc<TcpStream>>>,
    next: u64,
}

/// One connection; dropped, it is forgotten.
pub(crate) struct Connection {
    table: Arc<ConnectionTable>,
    number: u64,
}

impl ConnectionServer {
    /// Begins to accept once there is a listener. `find` waits for it, and gives up when the descriptor that it is given
    /// can be read.
    pub(crate) fn start(
        name: &str,
        most: usize,
        find: impl FnOnce(&OwnedFd) -> Option<TcpListener> + Send + 'static,
        serve: impl Fn(&Connection, &Arc<TcpStream>) + Send + Sync + 'static,
    ) -> Result<Self> {
        let (woken, wake) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        let table = Arc::new(ConnectionTable {
            state: Mutex::default(),
            ended: Condvar::new(),
            is_closing: AtomicBool::new(false),
            wake,
        });
        let (kept, serve): (_, Arc<Serve>) = (Arc::clone(&table), Arc::new(serve));
        let acceptor = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            if let Some(listener) = find(&woken) {
                accept(&kept, &serve, (&listener, most), &woken);
            }
        })?;
        Ok(Self { table, acceptor: Some(acceptor) })
    }
}

impl Drop for ConnectionServer {
    fn drop(&mut self) {
        self.table.is_closing.store(true, Ordering::SeqCst);
        self.table.wake();
        if let Some(acceptor) = self.acceptor.take() {
            ignore_error(acceptor.join(), "it has ended, by a panic or not");
        }
        let mut state = self.table.state();
        for end in state.connections.values().flatten() {
            ignore_error(
                end.shutdown(Shutdown::Both),
                "one that is closed already is what we want",
            );
        }
        let until = Instant::now() + PARTING;
        while !state.connections.is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.table.ended.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl ConnectionTable {
    fn state(&self) -> MutexGuard<'_, TableState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        ignore_error(rustix::io::write(&self.wake, b"w"), "a full pipe has woken it already");
    }
}

impl Connection {
    /// Remembers an end, so that it can be closed from outside; `false` if it is over.
    pub(crate) fn remember(&self, end: &Arc<TcpStream>) -> bool {
        let mut state = self.table.state();
        state.connections.entry(self.number).or_default().push(Arc::clone(end));
        !self.table.is_closing.load(Ordering::SeqCst)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.table.state().connections.remove(&self.number);
        self.table.ended.notify_all();
        self.table.wake();
    }
}

/// Takes connections in until the server closes.
fn accept(
    table: &Arc<ConnectionTable>,
    serve: &Arc<Serve>,
    (listener, most): (&TcpListener, usize),
    woken: &OwnedFd,
) {
    if listener.set_nonblocking(true).is_err() {
        return;
    }
    let mut is_exhausted = false;
    while !table.is_closing.load(Ordering::SeqCst) {
        let has_room = !is_exhausted && table.state().connections.len() < most;
        let mut fds = vec![PollFd::new(woken, PollFlags::IN)];
        if has_room {
            fds.push(PollFd::new(listener, PollFlags::IN));
        }
        ignore_error(
            poll(&mut fds, is_exhausted.then_some(&AGAIN)),
            "interrupted or not, the next round finds out what happened",
        );
        let is_woken = !fds[0].revents().is_empty();
        if is_woken {
            let read = rustix::io::read(woken, &mut [0_u8; 64][..]);
            ignore_error(read, "what stays in the pipe wakes it once more");
        }
        is_exhausted = false;
        match has_room.then(|| listener.accept()) {
            Some(Ok((client, _))) => begin(table, serve, client),
            Some(Err(error)) => is_exhausted = error.kind() != ErrorKind::WouldBlock,
            None => {}
        }
    }
}

/// A thread for each connection: a slow one keeps no other waiting.
fn begin(table: &Arc<ConnectionTable>, serve: &Arc<Serve>, client: TcpStream) {
    if client.set_nonblocking(false).is_err() {
        return;
    }
    let client = Arc::new(client);
    let number = {
        let mut state = table.state();
        state.next += 1;
        state.next
    };
    let (one, serve) = (Connection { table: Arc::clone(table), number }, Arc::clone(serve));
    one.remember(&client);
    let thread = std::thread::Builder::new().name("connection".into());
    let started = thread.spawn(move || serve(&one, &client));
    ignore_error(started, "without a thread the connection is closed, and forgotten with `one`");
}
