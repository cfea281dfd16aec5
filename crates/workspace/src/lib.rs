//! The old paths of `jm-system`, `jm-files` and `jm-process`, while other crates still use them.
//!
//! Law: names only, no code.

pub use jm_files::{commit, directory, index, names, text, walk as tree};
pub use jm_process::{
    background as jobs, environment as env, output_reader as pump, popen as by_hand, spool,
    survivors,
};
pub use jm_system::{
    fault, identity, install, keyring, memory, own_program as own, programs, queue, state,
    terminal, worker,
};

pub mod confine {
    //! `jm_process::confine`.
    pub use jm_process::confine::{read_only as reading, *};
}

pub mod file {
    //! `jm_files::file`, and the clock.
    pub use jm_files::file::*;
    pub use jm_system::clock::now_epoch_ms;
}

pub mod git {
    //! `jm_files::git_index` and `jm_files::git_control`.
    pub use jm_files::git_control as control;
    pub use jm_files::git_index::*;
}

pub mod launch {
    //! `jm_process::inside`.
    pub use jm_process::command::{CommandRecord, Ended};
    pub use jm_process::inside::{LAUNCH, launched};
}

pub mod process {
    //! `jm_process::command`.
    pub use jm_process::command::*;
}

pub use jm_files::{
    Absolute, After, CommitLog, Committed, DirectoryEntry, Dots, EntryKind, FileChange, Found,
    Manifest, ManifestEntry, ManifestTrade, NoLog, Node, OpenDirectory, OpenFile, Opening,
    PathPolicy, Placed, ProjectState, Protection, Root, SafePath, Sandbox, SandboxError,
    SandboxSettings, Staging, Trade, commit_with_trades,
};
pub use jm_process::{Confiner, EnvSanitizer, Unended};
pub use jm_types::{Digest, Extent, Freshness, Hashing, ReadRecord};
