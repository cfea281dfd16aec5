//! Ground: the only door to disk and processes.
//!
//! Law: an unresolved path cannot reach the disk, and nothing here knows what a tool is.

pub mod by_hand;
mod child;
pub mod commit;
pub mod confine;
pub mod console;
mod denies;
pub mod directory;
pub mod env;
pub mod fault;
mod feed;
pub mod file;
mod gate;
pub mod git;
pub mod identity;
mod ignored;
pub mod index;
pub mod install;
pub mod jobs;
pub mod keyring;
pub mod launch;
pub mod memory;
pub mod names;
mod open;
pub mod own;
mod path;
mod placed;
mod placeholder;
pub mod process;
pub mod programs;
mod project_state;
pub mod pump;
pub mod queue;
mod reaper;
mod resolve;
mod sandbox;
mod spare;
pub mod spool;
pub mod state;
mod supervise;
pub mod survivors;
mod system_secrets;
pub mod terminal;
pub mod text;
pub mod tree;
mod unended;
pub mod worker;

pub use commit::{
    After, CommitLog, Committed, FileChange, Manifest, ManifestEntry, ManifestTrade, NoLog, Node,
    Trade, commit, commit_with_trades,
};
pub use confine::Confiner;
pub use env::EnvSanitizer;
pub use file::{DirectoryEntry, EntryKind, OpenDirectory, OpenFile};
pub use jm_types::{Digest, Extent, Freshness, Hashing, ReadRecord};
pub use names::Protection;
pub use open::Opening;
pub use path::{Absolute, Dots, PathPolicy};
pub use placed::Placed;
pub use project_state::{ProjectState, Staging};
pub use resolve::Found;
pub use sandbox::{Root, SafePath, Sandbox, SandboxError, SandboxSettings};
pub use unended::Unended;
