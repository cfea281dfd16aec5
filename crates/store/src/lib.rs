//! Memory: what happened, in an order that cannot be changed unseen.
//!
//! Law: nothing here decides anything. A record is durable when the function that wrote it returns.

#![warn(missing_docs)]

mod blobs;
mod collect;
mod concurrent;
mod connection;
mod error;
mod files;
mod folder_row;
mod history;
mod identity;
mod index_content;
mod journal;
mod layer_records;
mod lease;
mod marks;
mod message;
mod output;
mod output_records;
mod prompts;
mod query;
mod queue;
mod record;
mod schema;
mod session_facts;
mod verify;
mod write;

pub use blobs::BlobStats;
pub use collect::{Collected, Space};
pub use concurrent::{Running, TrackedElsewhere};
pub use connection::Store;
pub use error::StoreError;
pub use files::{FileRow, IndexUpdate, StoredFile};
pub use history::{Calls, Changed, Place};
pub use identity::Owner;
pub use journal::{Entry, Journal};
pub use layer_records::{LayerChange, LayerName, LayerRecord, LayerSide, LayerView};
pub use message::{MessageRecord, MessageView, as_records};
pub use output::Incoming;
pub use output_records::{OutputStream, StoredOutput, StoredPart, StoredStream};
pub use prompts::{TurnKind, TurnMark, UndoMark};
pub use query::{CallView, EffectView, SessionView};
pub use queue::{WriteOrder, WriteQueue, WriteTurn};
pub use record::{
    CallRecord, Concurrent, FileEffect, FileState, Record, Speaker, StoredResult, Tracking,
};
pub use session_facts::SessionFacts;
pub use verify::Damage;

#[cfg(test)]
mod tests;
