//! The state that the threads of a job's daemon share.

use std::io::Result;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jm_types::Cancel;
use rustix::fd::OwnedFd;

use super::protocol::{JobAnswer, Typed};
use super::publisher::Publisher;
use super::screen::TerminalScreen;
use super::typing::Typing;
use crate::contract::descriptors::send_descriptors;
use crate::contract::ending::CommandEnding;
use crate::outside::egress_proxy::ProxyRefusals;
use crate::outside::refusal::Refusal;
use crate::outside::session_loopback::SessionLoopback;

/// The state that the threads of a daemon share.
pub(super) struct DaemonShared {
    /// Nothing before the command has its streams.
    pub(super) typing: Mutex<Option<Typing>>,
    pub(super) screen: Option<Mutex<TerminalScreen>>,
    /// The terminal to which its own answers are written.
    pub(super) answers: Mutex<Option<OwnedFd>>,
    /// Nothing where no hosts are listed.
    pub(super) refusals: Mutex<Option<ProxyRefusals>>,
    /// Held while a request is answered: the daemon does not end in the middle of an answer.
    pub(super) answering: Mutex<()>,
    pub(super) cancel: Cancel,
    /// The reason why it was stopped; the first one counts.
    pub(super) reason: Mutex<Option<CommandEnding>>,
    /// The loopback that the job shares with its session.
    pub(super) loopback: Option<Arc<SessionLoopback>>,
    pub(super) publisher: Arc<Publisher>,
}

impl DaemonShared {
    pub(super) fn stop(&self, reason: CommandEnding) {
        lock(&self.reason).get_or_insert(reason);
        self.cancel.cancel();
    }

    pub(super) fn write(&self, typed: &[Typed]) -> JobAnswer {
        let screen = self.screen.as_ref().map(lock);
        let bytes = Typing::encode(typed, screen.as_deref());
        drop(screen);
        match &mut *lock(&self.typing) {
            Some(typing) => typing.take(bytes),
            None => JobAnswer::Refused("it has not begun yet".to_owned()),
        }
    }

    /// Gives the descriptors of the loopback to another process of the session; closes without any where there is none.
    pub(super) fn hand_on_loopback(&self, to: &UnixStream) -> Result<()> {
        match &self.loopback {
            Some(loopback) => send_descriptors(to, &loopback.descriptors()),
            None => Ok(()),
        }
    }

    pub(super) fn refused_by_proxy(&self) -> Vec<String> {
        let refusals = lock(&self.refusals);
        refusals.as_ref().map(|refusals| in_words(&refusals.all())).unwrap_or_default()
    }
}

pub(super) fn in_words(find_refusals: &[Refusal]) -> Vec<String> {
    find_refusals.iter().map(Refusal::in_words).collect()
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
