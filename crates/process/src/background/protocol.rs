//! What the program, the host of a job and whoever asks it say to each other.
//!
//! The program gives the host one order and gets one report, on a socket that both hold. A further
//! byte from the program asks the host to end the job; the end of the stream says that the program is
//! gone. Everybody else asks on the socket in the job's folder, one question a connection.

use std::ffi::OsString;
use std::path::PathBuf;

use rustix::fd::RawFd;
use serde::{Deserialize, Serialize};

use super::keys::Key;
use super::screen::ScreenText;
use crate::contract::confinement_rules::Walls;
use crate::contract::terminal_size::Size;

/// The hidden word that makes the program the host of a job.
pub(crate) const HOST: &str = "__host";

/// The descriptors that a host is started with. The numbers are those that its launcher will have
/// other things under, so none of them goes further.
pub(crate) const LINE: RawFd = 3;
/// Locked as long as the job lives.
pub(crate) const LOCK: RawFd = 4;
/// Where the command runs.
pub(crate) const DIRECTORY: RawFd = 5;
/// The job's folder.
pub(crate) const FOLDER: RawFd = 6;

/// What a host is told. Its environment is the command's.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct HostOrder {
    pub(crate) words: Vec<OsString>,
    pub(crate) directory: OsString,
    pub(crate) lifetime_ms: u64,
    pub(crate) walls: Walls,
    pub(crate) launcher: PathBuf,
    pub(crate) bwrap: Option<PathBuf>,
    /// The job's folder by name.
    pub(crate) folder: PathBuf,
    pub(crate) terminal: Option<Size>,
    pub(crate) keeping: Keeping,
    pub(crate) keep_bytes: u64,
}

/// What becomes of a job when the program that started it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Keeping {
    /// It ends too.
    WithTheSession,
    /// It goes on until its lifetime is over.
    Kept,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum HostReport {
    /// The launcher runs.
    Started,
    NotStarted(String),
}

/// Something typed into a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Typed {
    Text(String),
    Key(Key),
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    Write(Vec<Typed>),
    Screen,
    RefusedByGate,
    Stop,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Answer {
    Taken(Taken),
    Screen(Option<ScreenText>),
    RefusedByGate(Vec<String>),
    Stopping,
    Refused(String),
}

/// How much of what was typed the job has taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taken {
    pub bytes: usize,
    pub offered: usize,
    /// Its input is closed: nothing more can be typed.
    pub is_closed: bool,
}
