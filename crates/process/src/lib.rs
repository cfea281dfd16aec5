//! Processes: start, confine, watch, end.
//!
//! Law: a command leaves no process behind, whichever process dies first, and nothing here knows what a
//! tool is. `contract` is what both sides of the process border share, `inside` runs in the launcher,
//! `outside` in the program, `background` in the program and in the daemon of a background command.

#![warn(missing_docs)]

pub mod background;
mod contract;
pub mod inside;
mod outside;

pub use contract::kill_failures::Unended;
pub use outside::confine::Confiner;
pub use outside::environment::EnvSanitizer;
pub use outside::{
    child_process, command, command_layers, confine, environment, held, output_reader, popen,
    remaining_processes, server_process, session_loopback, spool,
};
