//! The protocol between the program and its launcher (`SOCK_STREAM`, `SCM_RIGHTS`).
//!
//! A forecast, the command's descriptors and one order go in, one report comes out, each as JSON on a socket that
//! both hold. The forecast is the confinement of a command like the last one, or `null`: a launcher that waits makes
//! what it can of it ahead. Any further byte from the program asks the launcher to stop the command; the end of the
//! stream says that the program is gone, which asks the same.

use std::ffi::OsString;

use rustix::fd::{BorrowedFd, RawFd};
use serde::{Deserialize, Serialize};

use super::confinement_rules::ConfinementRules;
use super::ending::CommandEnding;
use super::kill_failures::Unended;
use super::terminal_size::TerminalSize;

/// The hidden word that makes the program its own launcher.
pub const LAUNCH: &str = "__launch";

/// The hidden word that makes the program the maker of a session's loopback.
pub(crate) const LOOPBACK: &str = "__loopback";

/// The hidden word that makes the program a maker of sockets in a session's loopback.
pub(crate) const SOCKETS: &str = "__sockets";
/// The bytes that ask for a socket of that family.
pub(crate) const SOCKET_IPV4: u8 = b'4';
pub(crate) const SOCKET_IPV6: u8 = b'6';

/// The one descriptor that a launcher is started with. The others come with the order, and are put
/// under these numbers.
pub(crate) const CONTROL: RawFd = 3;
/// Counters of the output bytes that were read, two 64-bit numbers, written by the program.
pub(crate) const COUNTERS: RawFd = 4;
/// The working directory of the command.
pub(crate) const DIRECTORY: RawFd = 5;
/// The directory of records; only with a record's name.
pub(crate) const RECORDS: RawFd = 6;

/// The order of an inner launcher, which inherits the rest.
pub(crate) const INNER_ORDER: RawFd = 7;
/// The socket through which the proxy's listener is handed out; only with a list.
pub(crate) const PROXY_LISTENER: RawFd = 8;
/// The socket through which our end of the command's terminal is handed out; only with a terminal.
pub(crate) const TERMINAL: RawFd = 9;
/// The user namespace that owns the session's network; only for a command that joins it.
pub(crate) const USER_NAMESPACE: RawFd = 10;
/// The session's network namespace; only for a command that joins it.
pub(crate) const NETWORK_NAMESPACE: RawFd = 11;
/// From here on numbers mean nothing.
pub(crate) const FREE: RawFd = 12;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct LaunchOrder {
    /// The numbers of the descriptors that came before it, one after the other.
    pub(crate) numbers: Vec<RawFd>,
    /// The words of the command; the first is looked for on `PATH`.
    pub(crate) words: Vec<OsString>,
    /// Its whole environment.
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// The directory by name, for those who see another tree.
    pub(crate) directory: OsString,
    pub(crate) lifetime_ms: u64,
    pub(crate) rules: ConfinementRules,
    /// The name of the file that says how it ended.
    pub(crate) record: Option<String>,
    /// Its streams are a terminal of this size, which is its own.
    pub(crate) terminal: Option<TerminalSize>,
    /// The stage that the confinement has reached.
    pub(crate) stage: LaunchStage,
    /// The program of that name, where it builds them.
    pub(crate) bwrap: Option<OsString>,
    /// The credentials that the proxy asks for, where others than the command can reach it.
    pub(crate) credentials: Option<String>,
}

impl LaunchOrder {
    /// Tells whether the command joins the session's network.
    pub(crate) fn joins_loopback(&self) -> bool {
        self.numbers.contains(&NETWORK_NAMESPACE)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum LaunchStage {
    /// Nothing is done yet.
    Outside,
    /// Already in the tree that `bwrap` made, as its first process.
    Inside,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum LaunchReport {
    /// With the processes that could not be ended.
    Ended(CommandEnding, Vec<Unended>),
    /// Nothing was run.
    NotStarted { step: String, why: String },
}

/// A descriptor that the launcher was given.
#[allow(unsafe_code)]
pub(crate) fn given(number: RawFd) -> BorrowedFd<'static> {
    // SAFETY: the program opens these descriptors for its launcher, they are put in their places
    // before anything else is done, and nothing in the launcher closes them.
    unsafe { BorrowedFd::borrow_raw(number) }
}
