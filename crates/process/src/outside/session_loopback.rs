//! The loopback of a session, held by the descriptors of its namespaces.
//!
//! Law: it is made when the session starts its first background process, and is gone when nobody holds it and no process
//! is in it. Commands of other sessions never get its descriptors.

use std::io::{Error, Result};
use std::os::unix::net::UnixStream;
use std::path::Path;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};

use super::child::ChildProcess;
use super::reaper;
use crate::contract::confinement_rules::{Backend, ConfinementRules, Network};
use crate::contract::descriptors::{high_numbered_copy, receive_descriptors};
use crate::contract::protocol::{CONTROL, LOOPBACK, NETWORK_NAMESPACE, USER_NAMESPACE};

/// A network in which the processes of one session reach each other and nothing else.
#[derive(Debug)]
pub struct SessionLoopback {
    user: OwnedFd,
    network: OwnedFd,
}

impl SessionLoopback {
    /// Makes one, with this program as its maker.
    pub(crate) fn make(program: &Path) -> Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        let maker =
            || ChildProcess::start(program, LOOPBACK, high_numbered_copy(&theirs)?, CONTROL);
        // `bury` waits for it.
        reaper::shelter(maker)?;
        drop(theirs);
        let made = Self::received(receive_descriptors(&ours));
        made.ok_or_else(|| Error::other("no loopback for the session"))
    }

    /// The one whose descriptors came from another process; `None` when none came.
    pub(crate) fn received(descriptors: Vec<OwnedFd>) -> Option<Self> {
        let [user, network] = <[OwnedFd; 2]>::try_from(descriptors).ok()?;
        Some(Self { user, network })
    }

    /// Its descriptors, in the order in which they are handed on.
    pub(crate) fn descriptors(&self) -> [BorrowedFd<'_>; 2] {
        [self.user.as_fd(), self.network.as_fd()]
    }

    /// The same with the numbers that a launcher knows them by.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (BorrowedFd<'_>, RawFd)> {
        self.descriptors().into_iter().zip([USER_NAMESPACE, NETWORK_NAMESPACE])
    }
}

/// Tells whether a command with these rules can be in a network that it shares.
pub(crate) fn can_join(rules: &ConfinementRules) -> bool {
    port_reach(rules.backend, &rules.network) == PortReach::Published
}

/// The way in which a program of this machine reaches a port that a background process listens on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PortReach {
    /// The port has to be published: the process is in the session's network.
    Published,
    /// As it is: the process has this machine's own network.
    Direct,
    /// In no way: the process has a network of its own, or no sockets.
    Unreachable,
}

/// Tells how ports of background processes can be reached.
pub fn port_reach(backend: Backend, network: &Network) -> PortReach {
    match (backend, network.is_own()) {
        (Backend::None, _) | (Backend::Namespaces | Backend::Bwrap | Backend::Landlock, false) => {
            PortReach::Direct
        }
        (Backend::Namespaces, true) => PortReach::Published,
        (Backend::Bwrap | Backend::Landlock, true) => PortReach::Unreachable,
    }
}
