//! The state of a connection, shared by the thread that keeps it and those who wait for it.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::definition::{NamedTool, SkippedTool};
use super::lifecycle::Era;

/// How far a connection has come.
#[derive(Debug, Clone)]
pub enum ConnectionState {
    /// Nothing was asked of it yet.
    Idle,
    /// The handshake is under way.
    Starting,
    /// Its tools are known.
    Ready(Arc<ServerInfo>),
    /// It never became ready.
    Failed(String),
    /// It was ready, and is gone.
    Ended(String),
}

/// A server that is ready, and its tools.
#[derive(Debug, Clone)]
pub struct ServerInfo {
    /// Name and version by its own words, fit for a terminal.
    pub title: String,
    /// The generation of the protocol that it speaks.
    pub era: Era,
    /// The revision that is spoken, such as `2026-07-28`.
    pub revision: String,
    /// The server's text for the model.
    pub instructions: Option<String>,
    /// Tools that can be called.
    pub tools: Vec<Arc<NamedTool>>,
    /// Tools with a schema or a name that cannot be used.
    pub skipped: Vec<SkippedTool>,
}

#[derive(Debug)]
pub(crate) struct SharedState {
    now: Mutex<ConnectionState>,
    changed: Condvar,
}

impl SharedState {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { now: Mutex::new(ConnectionState::Idle), changed: Condvar::new() })
    }

    fn lock(&self) -> MutexGuard<'_, ConnectionState> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn now(&self) -> ConnectionState {
        self.lock().clone()
    }

    pub(crate) fn set(&self, state: ConnectionState) {
        *self.lock() = state;
        self.changed.notify_all();
    }

    /// The tools of a server that is ready are others now.
    pub(crate) fn replace_tools(&self, tools: Vec<NamedTool>, skipped: Vec<SkippedTool>) {
        let mut now = self.lock();
        if let ConnectionState::Ready(info) = &*now {
            let tools = tools.into_iter().map(Arc::new).collect();
            let info = ServerInfo { tools, skipped, ..(**info).clone() };
            *now = ConnectionState::Ready(Arc::new(info));
        }
    }

    pub(crate) fn info(&self) -> Option<Arc<ServerInfo>> {
        match &*self.lock() {
            ConnectionState::Ready(info) => Some(Arc::clone(info)),
            ConnectionState::Idle
            | ConnectionState::Starting
            | ConnectionState::Failed(_)
            | ConnectionState::Ended(_) => None,
        }
    }

    /// Waits while it starts, until then at most.
    pub(crate) fn wait(&self, until: Instant) -> ConnectionState {
        let mut now = self.lock();
        while matches!(*now, ConnectionState::Starting) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            now = match self.changed.wait_timeout(now, left) {
                Ok((now, _)) => now,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
        now.clone()
    }
}
