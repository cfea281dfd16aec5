//! Cancelling the batch that is under way, from any thread.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jm_types::Cancel;

/// Stops the work of the engine, whatever it is.
#[derive(Debug, Clone, Default)]
pub struct Canceller {
    state: Arc<Mutex<CancelState>>,
}

#[derive(Debug, Default)]
struct CancelState {
    requested: bool,
    /// A batch is under way.
    is_armed: bool,
    active: Vec<Cancel>,
}

impl Canceller {
    /// Stops the batch that is under way, also while it waits for a person. When there is none,
    /// nothing happens: the next batch is not cancelled in advance.
    pub fn cancel(&self) {
        let mut state = self.state();
        state.requested = state.is_armed;
        for active in &state.active {
            active.cancel();
        }
    }

    pub(crate) fn is_requested(&self) -> bool {
        self.state().requested
    }

    /// Names the calls that are running now; those that start after the request are stopped at once.
    pub(crate) fn activate(&self, cancels: Vec<Cancel>) {
        let mut state = self.state();
        if state.requested {
            for cancel in &cancels {
                cancel.cancel();
            }
        }
        state.active = cancels;
    }

    pub(crate) fn arm(&self) {
        self.state().is_armed = true;
    }

    pub(crate) fn reset(&self) {
        *self.state() = CancelState::default();
    }

    fn state(&self) -> MutexGuard<'_, CancelState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
