//! The faces: loops around `Pause`, and the only code that prints.

pub(crate) mod acp;
pub(crate) mod age;
pub(crate) mod answer;
mod approval;
pub(crate) mod call;
pub(crate) mod call_loop;
pub(crate) mod chat;
pub(crate) mod columns;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod disk_usage;
pub(crate) mod doctor;
mod environment;
pub(crate) mod exec;
pub(crate) mod export;
pub(crate) mod facts;
pub(crate) mod held;
pub(crate) mod help;
pub(crate) mod history;
pub(crate) mod hold;
pub(crate) mod home;
pub(crate) mod init;
pub(crate) mod interrupts;
mod keep_recovery;
pub(crate) mod keys;
mod line_output;
pub(crate) mod log;
pub(crate) mod manual;
pub(crate) mod mcp;
mod messages;
pub(crate) mod models;
mod old_versions;
pub(crate) mod output;
mod outside_results;
pub(crate) mod policy;
pub(crate) mod print;
pub(crate) mod programs;
pub(crate) mod prompt;
pub(crate) mod ps;
pub(crate) mod recover;
mod refused_calls;
pub(crate) mod repl;
pub(crate) mod rewind;
pub(crate) mod run;
pub(crate) mod sandbox;
pub(crate) mod screen;
pub(crate) mod serve;
pub(crate) mod session_list;
pub(crate) mod settings_commands;
pub(crate) mod story;
mod task;
pub(crate) mod tool_reference;
pub(crate) mod tools;
pub(crate) mod trust;
pub(crate) mod tui;
pub(crate) mod undo;

/// Exit codes of the process.
pub(crate) mod exit {
    pub(crate) const RAN: u8 = 0;
    pub(crate) const FAILED: u8 = 1;
    pub(crate) const USAGE: u8 = 2;
    pub(crate) const DENIED: u8 = 3;
    /// The model would go on, but a limit says stop.
    pub(crate) const LIMIT: u8 = 4;
    /// As the program `timeout` says it.
    pub(crate) const TIMED_OUT: u8 = 124;
    pub(crate) const INTERRUPTED: u8 = 130;
    /// Whoever read our output has stopped; what a shell reports of that.
    pub(crate) const CLOSED_PIPE: u8 = 141;
}
