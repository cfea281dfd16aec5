//! Write transactions: one writer at a time, in the order in which they asked.
//!
//! Law: every write begins with `BEGIN IMMEDIATE`, so that no transaction that has read learns later that it
//! cannot write. Writers wait in a queue for that: SQLite's own lock goes to whoever asks in the right
//! moment, and somebody may miss that moment for seconds.

use std::fmt::Debug;
use std::time::Duration;

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::journal::checkpoint;
use crate::{Store, StoreError};

/// How long a write waits for another process's.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// How often a connection asks for a lock that another one holds.
const POLL: Duration = Duration::from_micros(500);

/// The place of a write among those of other processes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Order {
    #[default]
    InTurn,
    /// Past the queue: for a writer that holds something which others in the queue may wait for, such as the lock of
    /// a directory. There is one of these for each such thing, so nobody waits for long.
    AtOnce,
}

/// A writer's turn; it ends when this is dropped.
pub type Turn = Box<dyn Send>;

/// The queue of all processes that write to one journal.
pub trait WriteQueue: Debug + Send + Sync {
    /// Returns when everybody who asked before has had their turn, or when `patience` is over: the queue
    /// gives order, the database keeps writers apart.
    fn turn(&self, patience: Duration) -> Turn;
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

impl Store {
    /// Runs `write` in a transaction: all of it is durable when this returns, or nothing was written.
    pub(crate) fn write<T>(
        &self,
        write: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut connection = self.connection();
        let _turn = self.turn();
        in_transaction(&mut connection, write)
    }

    /// The same, tried once more on a full disk: the log may be what fills it, and is copied back first.
    pub(crate) fn write_with_room<T>(
        &self,
        order: Order,
        mut write: impl FnMut(&Transaction<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut connection = self.connection();
        let _turn = if order == Order::InTurn { self.turn() } else { None };
        match in_transaction(&mut connection, &mut write) {
            Err(error) if error.is_full() => {
                // Where that fails, so does the second attempt, and says why.
                checkpoint(&mut connection).unwrap_or_default();
                in_transaction(&mut connection, &mut write)
            }
            outcome => outcome,
        }
    }

    /// This store's turn among all writers, where they have a queue.
    pub(crate) fn turn(&self) -> Option<Turn> {
        self.queue.as_ref().map(|queue| queue.turn(PATIENCE))
    }
}

fn in_transaction<T>(
    connection: &mut Connection,
    write: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let step = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let value = write(&step)?;
    step.commit()?;
    Ok(value)
}
