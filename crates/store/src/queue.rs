//! The queue of those who write to one journal, and how long each waits.

use std::fmt::Debug;
use std::time::Duration;

/// How long a write waits for another process's.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// How often a connection asks for a lock that another one holds.
const POLL: Duration = Duration::from_micros(500);

/// The place of a write among those of other processes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WriteOrder {
    /// Waits behind the writers that asked earlier.
    #[default]
    InTurn,
    /// Past the queue: for a writer that holds something which others in the queue may wait for, such as the lock of
    /// a directory. There is one of these for each such thing, so no process waits for long.
    AtOnce,
}

/// A writer's turn; it ends when this is dropped.
pub type WriteTurn = Box<dyn Send>;

/// The queue of all processes that write to one journal.
pub trait WriteQueue: Debug + Send + Sync {
    /// Returns when everybody who asked before has had their turn, or when `patience` is over: the queue
    /// gives order, the database keeps writers apart.
    fn turn(&self, patience: Duration) -> WriteTurn;
}

/// SQLite's busy handler: asks again at an even pace, where SQLite's own one waits longer each time and so
/// serves those last who came first.
pub(crate) fn wait_for_lock(asked: i32) -> bool {
    let waited = POLL.saturating_mul(asked.unsigned_abs());
    if waited >= PATIENCE {
        return false;
    }
    std::thread::sleep(POLL);
    true
}
