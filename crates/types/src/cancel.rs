//! Stopping one call.
//!
//! Law: an effect is never half cancelled. Once a call has begun to commit, cancelling comes too
//! late: the caller waits for the few renames that remain and reports what really happened.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

const OPEN: u8 = 0;
const CANCELLED: u8 = 1;
const COMMITTING: u8 = 2;

type Wake = Box<dyn Fn() + Send>;

/// The abort handle of one call; clones share its state.
#[derive(Clone, Default)]
pub struct Cancel {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    state: AtomicU8,
    wakes: Mutex<Vec<Wake>>,
}

/// The error of work that was asked to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("cancelled")]
pub struct Cancelled;

impl Cancel {
    /// A handle of a call that nobody has stopped.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks the call to stop. `false` means that it is already committing and will finish.
    pub fn cancel(&self) -> bool {
        let won = self.swap(OPEN, CANCELLED);
        for wake in self.wakes().iter() {
            wake();
        }
        won || self.is_cancelled()
    }

    /// True from the first successful `cancel` on.
    pub fn is_cancelled(&self) -> bool {
        self.inner.state.load(Ordering::Acquire) == CANCELLED
    }

    /// Long work calls this at every step.
    pub fn checkpoint(&self) -> Result<(), Cancelled> {
        if self.is_cancelled() { Err(Cancelled) } else { Ok(()) }
    }

    /// The point of no return: after it the call cannot be cancelled until the guard is dropped.
    pub fn begin_commit(&self) -> Result<Committing<'_>, Cancelled> {
        if self.swap(OPEN, COMMITTING) { Ok(Committing { cancel: self }) } else { Err(Cancelled) }
    }

    /// Runs `wake` when the call is cancelled, at once if it already is.
    pub fn on_cancel(&self, wake: impl Fn() + Send + 'static) {
        let mut wakes = self.wakes();
        if self.is_cancelled() {
            wake();
        }
        wakes.push(Box::new(wake));
    }

    fn swap(&self, from: u8, to: u8) -> bool {
        self.inner.state.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    fn wakes(&self) -> std::sync::MutexGuard<'_, Vec<Wake>> {
        self.inner.wakes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Cancel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cancel").field("cancelled", &self.is_cancelled()).finish()
    }
}

/// Held while effects become real.
#[derive(Debug)]
pub struct Committing<'a> {
    cancel: &'a Cancel,
}

impl Drop for Committing<'_> {
    fn drop(&mut self) {
        self.cancel.swap(COMMITTING, OPEN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_that_has_begun_cannot_be_cancelled() {
        let cancel = Cancel::new();
        let guard = cancel.begin_commit().unwrap();
        assert!(!cancel.cancel());
        assert!(cancel.checkpoint().is_ok());
        drop(guard);
        assert!(cancel.cancel());
        assert_eq!(cancel.checkpoint(), Err(Cancelled));
        assert!(cancel.begin_commit().is_err());
    }

    #[test]
    fn a_late_listener_hears_of_an_early_cancel() {
        let cancel = Cancel::new();
        cancel.cancel();
        let heard = Arc::new(AtomicU8::new(0));
        let ear = Arc::clone(&heard);
        cancel.on_cancel(move || ear.store(1, Ordering::Release));
        assert_eq!(heard.load(Ordering::Acquire), 1);
    }
}
