//! A layer on which the commands of several calls run one after another, each on what the ones before it changed, until
//! a person decides about all of it.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jm_process::held::HeldLayer;

/// The layer, and what is known of the commands that ran on it.
#[derive(Debug, Default)]
pub(crate) struct LayerStack {
    state: Mutex<StackState>,
}

#[derive(Debug, Default)]
pub(crate) struct StackState {
    /// `None` before the first command, and while one runs.
    pub(crate) layer: Option<HeldLayer>,
    /// Protected names of the workspace.
    pub(crate) known: Vec<PathBuf>,
    /// The reason why nothing of it can be kept.
    pub(crate) trouble: Option<String>,
}

impl LayerStack {
    pub(crate) fn state(&self) -> MutexGuard<'_, StackState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
