//! What the program and its launcher say to each other.
//!
//! The command's descriptors and one order go in, one report comes out, each as JSON on a socket that
//! both hold. Any further byte from the program asks the launcher to stop the command; the end of the
//! stream says that the program is gone, which asks the same.

use std::ffi::OsString;
use std::io::{Error, ErrorKind, Read, Result, Write};

use rustix::fd::{BorrowedFd, RawFd};
use serde::{Deserialize, Serialize};

use crate::confine::Walls;
use crate::jobs::Size;
use crate::process::Ending;
use crate::unended::Unended;

/// The hidden word that makes the program its own launcher.
pub const LAUNCH: &str = "__launch";

/// The one descriptor that a launcher is started with. The others come with the order, and are put
/// under these numbers.
pub(crate) const CONTROL: RawFd = 3;
/// How many bytes of output were read, two 64-bit numbers, written by the program.
pub(crate) const COUNTERS: RawFd = 4;
/// Where the command runs.
pub(crate) const DIRECTORY: RawFd = 5;
/// Where records are kept; only with a record's name.
pub(crate) const RECORDS: RawFd = 6;

/// Where the order of an inner launcher is, which inherits the rest.
pub(crate) const INNER_ORDER: RawFd = 7;
/// Where the door to listed hosts is handed out; only with a list.
pub(crate) const GATE: RawFd = 8;
/// Where our end of the command's terminal is handed out; only with a terminal.
pub(crate) const TERMINAL: RawFd = 9;
/// From here on numbers mean nothing.
pub(crate) const FREE: RawFd = 10;

const MOST_BYTES: u32 = 64 * 1024 * 1024;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Order {
    /// The numbers of the descriptors that came before it, one after the other.
    pub(crate) numbers: Vec<RawFd>,
    /// The words of the command; the first is looked for on `PATH`.
    pub(crate) words: Vec<OsString>,
    /// Its whole environment.
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// The directory by name, for those who see another tree.
    pub(crate) directory: OsString,
    pub(crate) lifetime_ms: u64,
    pub(crate) walls: Walls,
    /// The name of the file that says how it ended.
    pub(crate) record: Option<String>,
    /// Its streams are a terminal of this size, which is its own.
    pub(crate) terminal: Option<Size>,
    /// How far the walls are built.
    pub(crate) stage: Stage,
    /// The program of that name, where it builds them.
    pub(crate) bwrap: Option<OsString>,
    /// What the gate wants to hear, where others than the command can reach it.
    pub(crate) pass: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Stage {
    /// Nothing is done yet.
    Outside,
    /// Already in the tree that `bwrap` made, as its first process.
    Inside,
}

/// How a command ended, as its launcher saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    Exited(i32),
    Signalled(i32),
    TimedOut,
    /// The program asked for it.
    Stopped,
    /// The program was gone.
    Orphaned,
}

impl Ended {
    pub(crate) fn ending(self) -> Ending {
        match self {
            Self::Exited(code) => Ending::Exited(code),
            Self::Signalled(signal) => Ending::Signalled(signal),
            Self::TimedOut => Ending::TimedOut,
            Self::Stopped | Self::Orphaned => Ending::Cancelled,
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Report {
    /// With the processes that could not be ended.
    Ended(Ended, Vec<Unended>),
    /// Nothing was run.
    NotStarted { step: String, why: String },
}

/// What is kept of a command beyond the life of the program that started it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandRecord {
    pub ended: Ended,
    pub elapsed_ms: u64,
    /// Output that the program had read by then.
    pub stdout_bytes: u64,
    pub stderr_bytes: u64,
}

/// The file that is locked while a command's launcher lives.
pub(crate) fn running(record: &str) -> String {
    format!("{record}.running")
}

/// A length, then JSON: nothing that follows is read along.
pub(crate) fn send(mut to: impl Write, message: &impl Serialize) -> Result<()> {
    let text = serde_json::to_vec(message)?;
    let length = u32::try_from(text.len()).map_err(|_| Error::from(ErrorKind::InvalidInput))?;
    to.write_all(&[&length.to_ne_bytes(), text.as_slice()].concat())
}

pub(crate) fn receive<T: for<'de> Deserialize<'de>>(mut from: impl Read) -> Result<T> {
    let mut length = [0_u8; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_ne_bytes(length);
    if length > MOST_BYTES {
        return Err(Error::from(ErrorKind::InvalidData));
    }
    let mut text = vec![0_u8; length as usize];
    from.read_exact(&mut text)?;
    serde_json::from_slice(&text).map_err(Error::from)
}

/// A descriptor that the launcher was given.
#[allow(unsafe_code)]
pub(crate) fn given(number: RawFd) -> BorrowedFd<'static> {
    // SAFETY: the program opens these descriptors for its launcher, they are put in their places
    // before anything else is done, and nothing in the launcher closes them.
    unsafe { BorrowedFd::borrow_raw(number) }
}
