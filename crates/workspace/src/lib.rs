//! The old paths and names of `jm-system`, `jm-files` and `jm-process`, while other crates still use them.
//!
//! Law: names only, no code.

pub use jm_files::{commit, directory, names};
pub use jm_process::{companion, environment as env, popen as by_hand};
pub use jm_system::{console, fault, keyring, queue, worker};

pub mod confine {
    //! `jm_process::confine`.
    pub use jm_process::confine::{
        ConfinementPlan as Plan, ConfinementRules as Walls, FileIdentity as Identity,
        KeptName as Kept, KeptPresence as Existing, PrestartedLauncher as Spare, Refusal as Bite,
        find_refusals as bites, probe_backends as probe, read_only as reading, *,
    };
}

pub mod file {
    //! `jm_files::file`, and the clock.
    pub use jm_files::file::*;
    pub use jm_system::clock::now_epoch_ms;
}

pub mod git {
    //! `jm_files::git_index` and `jm_files::git_control`.
    pub use jm_files::git_index::{tracked_state as tracked, *};

    pub mod control {
        //! `jm_files::git_control`.
        pub use jm_files::git_control::{
            ConfiguredPath as Named, ControlEntry as Entry, ControlForm as Form, *,
        };
    }
}

pub mod identity {
    //! `jm_system::identity`.
    pub use jm_system::identity::{ProcessIdentity as Identity, *};
}

pub mod index {
    //! `jm_files::index`.
    pub use jm_files::index::{
        ContentSink as Keep, FileStat as Stat, IndexChange as Moved, IndexDifference as Difference,
        LookBudget as Budget, *,
    };
}

pub mod install {
    //! `jm_system::install`.
    pub use jm_system::install::{make_links as links, *};
}

pub mod jobs {
    //! `jm_process::background`.
    pub use jm_process::background::{
        JobDescription as Description, JobEnding as How, JobExcerpt as Excerpt,
        JobLifetime as Keeping, JobSeen as Seen, JobState as State, TerminalKey as Key,
        TerminalSize as Size, TypedCount as Taken, run_as_daemon as hosted, *,
    };
}

pub mod launch {
    //! `jm_process::inside`.
    pub use jm_process::command::{CommandRecord, RecordedEnding as Ended};
    pub use jm_process::inside::{LAUNCH, run_as_launcher as launched};
}

pub mod memory {
    //! `jm_system::memory`.
    pub use jm_system::memory::keep_freed_memory as expect_peaks;
}

pub mod own {
    //! `jm_system::own_program`.
    pub use jm_system::own_program::{
        OwnChild as Started, ScratchDir as Scratch, catch_file_size_signal as outlive_full_files, *,
    };
}

pub mod process {
    //! `jm_process::command`.
    pub use jm_process::command::{
        CommandEnding as Ending, CommandInput as Input, CommandProgram as Program,
        FinishedCommand as Finished, run_command as run, *,
    };
}

pub mod programs {
    //! `jm_system::programs`.
    pub use jm_system::programs::{
        FileStamp as Stamp, digest_program as digest, list_programs as list,
        tree_digests as contents, *,
    };
}

pub mod pump {
    //! `jm_process::output_reader`.
    pub use jm_process::output_reader::{
        ChunkAnswer as Offer, CommandStream as Stream, NoListener as Deaf,
        OutputListener as Listener, OutputView as View, *,
    };
}

pub mod spool {
    //! `jm_process::spool`.
    pub use jm_process::spool::{SpoolPart as Part, *};
}

pub mod state {
    //! `jm_system::state`.
    pub use jm_system::state::{DiskReserve as Reserve, *};
}

pub mod survivors {
    //! `jm_process::survivors`.
    pub use jm_process::survivors::{lasting_survivors as lasting, *};
}

pub mod terminal {
    //! `jm_system::terminal`.
    pub use jm_system::terminal::{TerminalModes as Manners, *};
}

pub mod text {
    //! `jm_files::text`.
    pub use jm_files::text::{TextLine as Line, *};
}

pub mod tree {
    //! `jm_files::walk`.
    pub use jm_files::walk::{
        WalkEntry as Met, WalkFilter as Passing, WalkStep as Next, shown_path as shown, *,
    };
}

pub use jm_files::{
    Absolute, After, CommitLog, Committed, DirectoryEntry, Dots, EntryKind, FileChange, Found,
    Manifest, ManifestEntry, ManifestTrade, NoLog, Node, OpenDirectory, OpenFile, Opening,
    PathPolicy, Placed, ProjectState, Protection, Root, SafePath, Sandbox, SandboxError,
    SandboxSettings, Staging, Trade, commit_with_trades,
};
pub use jm_process::{Confiner, EnvSanitizer, Unended};
pub use jm_types::{Digest, Extent, Freshness, Hashing, ReadRecord};
