//! The threads of an engine that work ahead of its commands.

use std::thread::JoinHandle;
use std::time::Instant;

/// Threads that find out or make what the next commands need.
#[derive(Debug, Default)]
pub(crate) struct ThreadsAhead {
    pub(crate) working: Vec<JoinHandle<()>>,
    /// The thread that waits a while before it prepares the next command.
    pub(crate) resting: Option<JoinHandle<()>>,
    /// The last call's end.
    pub(crate) ended: Option<Instant>,
    /// Commands follow each other without a pause.
    pub(crate) is_in_a_row: bool,
    pub(crate) is_closing: bool,
}

impl ThreadsAhead {
    /// Takes them all; nothing more is begun.
    pub(crate) fn close(&mut self) -> impl Iterator<Item = JoinHandle<()>> + use<> {
        self.is_closing = true;
        self.hurry();
        std::mem::take(&mut self.working).into_iter().chain(self.resting.take())
    }

    /// Lets nobody wait any longer.
    pub(crate) fn hurry(&self) {
        self.resting.iter().for_each(|thread| thread.thread().unpark());
    }
}
