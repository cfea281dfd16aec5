//! The parts that whoever runs scripts provides: the child process, and the world that scripts ask for.

use std::os::unix::net::UnixStream;

use jm_types::Cancel;

use crate::protocol::{JobOrder, LogLevel, ModuleSource, ScriptJobEnd};

/// The process of a child, as whoever started it knows it.
pub trait ScriptChild: Send {
    /// Ends it at once; no error if it has ended.
    fn kill(&mut self);

    /// How it ended, such as `signal 9`; waits for that a moment at most.
    fn ending(&mut self) -> Option<String>;
}

/// Starts a child: this program with [`crate::CHILD_WORD`] and one end of a socket as its standard
/// input. The caller decides what confines it.
pub type StartChild =
    Box<dyn Fn() -> std::io::Result<(UnixStream, Box<dyn ScriptChild>)> + Send + Sync>;

/// Everything that a script can have of the program. Called on a thread of the client, so it must not
/// call the client.
pub trait ScriptHost: Send + Sync {
    /// The module of that name beside `init.lua`.
    fn module(&self, name: &str) -> Result<Option<ModuleSource>, String>;

    /// Asks the sandbox, not the disk.
    fn is_path_writable(&self, path: &str) -> bool;

    /// The command that runs this one confined.
    fn wrap_command(&self, argv: Vec<String>) -> Result<Vec<String>, String>;

    /// Reads a file of the workspace through the sandbox.
    fn read_file(&self, path: &str) -> Result<String, String>;

    /// Replaces a file of the workspace through the sandbox.
    fn write_file(&self, path: &str, text: &str) -> Result<(), String>;

    /// Runs a program to its end, on a thread of its own.
    fn run_job(&self, order: JobOrder, cancel: &Cancel) -> ScriptJobEnd;

    /// Passes a script's message on to the log.
    fn log(&self, level: LogLevel, text: &str);
}
