//! Write transactions: one writer at a time, in the order in which they asked.
//!
//! Law: every write begins with `BEGIN IMMEDIATE`, so that no transaction that has read learns later that it
//! cannot write. Writers wait in a queue for that: SQLite's own lock goes to whoever asks in the right
//! moment, and a process may miss that moment for seconds.

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::connection::{Store, checkpoint};
use crate::error::StoreError;
use crate::queue::{PATIENCE, WriteOrder, WriteTurn};

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
        order: WriteOrder,
        mut write: impl FnMut(&Transaction<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut connection = self.connection();
        let _turn = if order == WriteOrder::InTurn { self.turn() } else { None };
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
    pub(crate) fn turn(&self) -> Option<WriteTurn> {
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
