//! The protocol between the program, the daemon of a job, and any process that asks it.
//!
//! The program gives the daemon one order and gets one report, on a socket that both hold. A further
//! byte from the program asks the daemon to end the job; the end of the stream says that the program is
//! gone. Everybody else asks on the socket in the job's folder, one question a connection.

use std::ffi::OsString;
use std::path::PathBuf;

use rustix::fd::RawFd;
use serde::{Deserialize, Serialize};

use super::keys::TerminalKey;
use super::screen::ScreenText;
use crate::contract::confinement_rules::ConfinementRules;
use crate::contract::terminal_size::TerminalSize;

/// The hidden word that makes the program the daemon of a job.
pub(crate) const DAEMON: &str = "__host";

/// The descriptors that a daemon is started with. The numbers are those that its launcher will have
/// other things under, so none of them goes further.
pub(crate) const LINE: RawFd = 3;
/// Locked as long as the job lives.
pub(crate) const LOCK: RawFd = 4;
/// The working directory of the command.
pub(crate) const DIRECTORY: RawFd = 5;
/// The job's folder.
pub(crate) const FOLDER: RawFd = 6;
/// The user namespace that owns the session's network; only for a command that joins it.
pub(crate) const USER_NAMESPACE: RawFd = 7;
/// The session's network namespace; only for a command that joins it.
pub(crate) const NETWORK_NAMESPACE: RawFd = 8;

/// The order that a daemon gets. Its environment is the command's.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct DaemonOrder {
    pub(crate) words: Vec<OsString>,
    pub(crate) directory: OsString,
    pub(crate) lifetime_ms: u64,
    pub(crate) rules: ConfinementRules,
    pub(crate) launcher: PathBuf,
    pub(crate) bwrap: Option<PathBuf>,
    /// The job's folder by name.
    pub(crate) folder: PathBuf,
    pub(crate) terminal: Option<TerminalSize>,
    pub(crate) keeping: JobLifetime,
    pub(crate) keep_bytes: u64,
    /// It was given the descriptors of the session's loopback.
    pub(crate) has_loopback: bool,
    pub(crate) publication: Publication,
}

/// The ports of a job that are published on this machine, at 127.0.0.1.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Publication {
    /// Without these the job is not started.
    pub required: Vec<u16>,
    /// These are published as soon as they are free.
    pub granted: Vec<u16>,
}

/// The lifetime of a job beyond the program that started it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobLifetime {
    /// It ends too.
    WithTheSession,
    /// It goes on until its lifetime is over.
    Kept,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum DaemonReport {
    /// The launcher runs.
    Started,
    NotStarted(String),
    /// Nothing was started: something else on this machine has this port.
    PortTaken(u16),
}

/// Something typed into a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Typed {
    /// Characters.
    Text(String),
    /// A key.
    Key(TerminalKey),
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum JobRequest {
    Write(Vec<Typed>),
    Screen,
    RefusedByProxy,
    /// The descriptors of the session's loopback; answered with them alone.
    Loopback,
    /// Publishes a port.
    Publish(u16),
    Stop,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum JobAnswer {
    Taken(TypedCount),
    Screen(Option<ScreenText>),
    RefusedByProxy(Vec<String>),
    Published,
    Stopping,
    Refused(String),
    PortTaken,
}

/// The part of typed bytes that the job has taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypedCount {
    /// Bytes that the job has taken.
    pub bytes: usize,
    /// Bytes that were typed.
    pub offered: usize,
    /// Its input is closed: nothing more can be typed.
    pub is_closed: bool,
}
