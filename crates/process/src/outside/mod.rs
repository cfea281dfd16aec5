//! The program's side of the process border: supervision, confinement planning, the egress proxy.

pub(crate) mod child;
pub mod child_process;
pub mod command;
pub mod command_layers;
mod command_request;
pub mod confine;
pub(crate) mod egress_proxy;
pub mod environment;
pub mod held;
pub(crate) mod launcher;
pub(crate) mod launcher_link;
mod login_settings;
pub mod output_reader;
pub mod popen;
pub(crate) mod prestarted;
pub(crate) mod program;
pub(crate) mod reaper;
pub(crate) mod records;
pub(crate) mod refusal;
pub mod remaining_processes;
pub mod server_process;
pub mod session_loopback;
pub mod spool;
mod stdin_writer;
pub(crate) mod tcp;
