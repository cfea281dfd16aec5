//! The ports that a job's daemon has published, and the file that names them.
//!
//! Law: all of them are closed before the job is said to have ended, and with the daemon in any case. Nothing is
//! published for a job that is in no loopback of a session.

use std::collections::BTreeMap;
use std::io::{Error, ErrorKind, Result};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jm_system::small_file::{Durability, replace_small_file};

use super::folder::PUBLISHED;
use super::protocol::FOLDER;
use crate::contract::protocol::given;
use crate::outside::session_loopback::SessionLoopback;
use crate::outside::tcp::loopback_sockets::LoopbackSockets;
use crate::outside::tcp::published_port::PublishedPort;

/// More than a job has use for.
const MOST_PORTS: usize = 16;
/// Between two attempts to get a port that something else has.
const AGAIN: Duration = Duration::from_millis(500);

pub(super) struct Publisher {
    /// This program, which makes the sockets.
    program: PathBuf,
    loopback: Option<Arc<SessionLoopback>>,
    state: Mutex<PublisherState>,
    closed: Condvar,
}

#[derive(Default)]
struct PublisherState {
    /// Made with the first port.
    sockets: Option<Arc<LoopbackSockets>>,
    ports: BTreeMap<u16, PublishedPort>,
    is_closed: bool,
}

impl Publisher {
    pub(super) fn new(program: PathBuf, loopback: Option<Arc<SessionLoopback>>) -> Self {
        Self { program, loopback, state: Mutex::default(), closed: Condvar::new() }
    }

    /// Publishes a port; one that is published already stays so.
    pub(super) fn publish(&self, port: u16) -> Result<()> {
        let mut state = self.state();
        let Some(loopback) = self.loopback.as_ref().filter(|_| !state.is_closed) else {
            return Err(Error::new(ErrorKind::Unsupported, "it is in no loopback of a session"));
        };
        if state.ports.contains_key(&port) {
            return Ok(());
        }
        if state.ports.len() >= MOST_PORTS {
            return Err(Error::other(format!("{MOST_PORTS} ports are published already")));
        }
        let sockets = match &state.sockets {
            Some(sockets) => Arc::clone(sockets),
            None => {
                let (program, loopback) = (self.program.clone(), Arc::clone(loopback));
                Arc::new(LoopbackSockets::open(program, loopback)?)
            }
        };
        state.sockets = Some(Arc::clone(&sockets));
        state.ports.insert(port, PublishedPort::open(port, sockets)?);
        let noted = note(&state);
        if noted.is_err() {
            state.ports.remove(&port);
        }
        noted
    }

    /// Publishes ports as far as they are free, and each other one as soon as it is: another job of the session may have
    /// it, and end first.
    pub(super) fn publish_when_free(self: &Arc<Self>, mut ports: Vec<u16>) -> Result<()> {
        ports.retain(|port| self.is_taken(*port));
        if ports.is_empty() || self.loopback.is_none() {
            return Ok(());
        }
        let publisher = Arc::clone(self);
        let again = move || {
            while !ports.is_empty() && !publisher.is_closed_within(AGAIN) {
                ports.retain(|port| publisher.is_taken(*port));
            }
        };
        std::thread::Builder::new().spawn(again).map(drop)
    }

    /// Publishes a port, and tells whether that has to wait. What cannot be published at all is not tried again.
    fn is_taken(&self, port: u16) -> bool {
        self.publish(port).is_err_and(|error| error.kind() == ErrorKind::AddrInUse)
    }

    fn state(&self) -> MutexGuard<'_, PublisherState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_closed_within(&self, most: Duration) -> bool {
        let waited = self.closed.wait_timeout_while(self.state(), most, |state| !state.is_closed);
        waited.unwrap_or_else(PoisonError::into_inner).0.is_closed
    }

    /// Closes all ports for good.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.is_closed = true;
        state.ports.clear();
        self.closed.notify_all();
    }
}

/// For whoever lists the job.
fn note(state: &PublisherState) -> Result<()> {
    let ports: Vec<u16> = state.ports.keys().copied().collect();
    replace_small_file(
        given(FOLDER),
        PUBLISHED,
        &serde_json::to_vec(&ports)?,
        Durability::ProcessEnd,
    )
}
