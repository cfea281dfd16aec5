//! Memory: what happened, in an order that cannot be changed unseen.
//!
//! Law: nothing here decides anything. A record is durable when the function that wrote it returns.

mod blobs;
mod collect;
mod concurrent;
mod database;
mod error;
mod files;
mod history;
mod journal;
mod lease;
mod marks;
mod message;
mod output;
mod owner;
mod query;
mod queue;
mod record;
mod role;
mod schema;
mod stored_output;
mod verify;
mod write;

pub use blobs::BlobStats;
pub use collect::{Collected, Space};
pub use concurrent::{Running, TrackedElsewhere};
pub use database::Store;
pub use error::StoreError;
pub use files::{FileRow, IndexChange};
pub use history::{Calls, Changed, Place};
pub use journal::{Entry, Journal};
pub use message::{Message, MessageView, as_records};
pub use output::Incoming;
pub use owner::Owner;
pub use query::{CallView, EffectView, SessionView};
pub use queue::{Order, Turn, WriteQueue};
pub use record::{CallRecord, Concurrent, Effect, FileState, Record, StoredResult, Tracking};
pub use role::Role;
pub use stored_output::{OutputStream, StoredOutput, StoredPart, StoredStream};
pub use verify::Damage;

#[cfg(test)]
mod tests;
