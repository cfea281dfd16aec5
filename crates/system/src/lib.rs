//! This program itself: its identity, clock, state directory, own files, keyring, terminal, worker threads
//! and failpoints.
//!
//! Law: nothing here knows a workspace, a command or a tool.

#![warn(missing_docs)]

pub mod clipboard;
pub mod clock;
pub mod console;
pub mod descriptors;
pub mod fault;
pub mod folder;
pub mod identity;
pub mod install;
pub mod keyring;
pub mod memory;
pub mod os_error;
pub mod own_program;
pub mod page;
pub mod programs;
pub mod queue;
pub mod small_file;
pub mod state;
pub mod stream_hash;
pub mod terminal;
pub mod worker;
