//! A launcher that waits for the next command, so that a command need not wait for its launcher, nor for its
//! namespaces where the next one is expected to be like the last.
//!
//! Law: while it waits it holds nothing of ours but its end of a socket, and mounts in namespaces of its own. It ends when
//! ours closes, and never knows of a command that is not for it: an order is given whole or not at all.

use std::io::Result;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use super::child::ChildProcess;
use super::reaper;
use crate::contract::confinement_rules::ConfinementRules;
use crate::contract::descriptors::high_numbered_copy;
use crate::contract::message::send;
use crate::contract::protocol::{CONTROL, LAUNCH};

/// A launcher without an order.
#[derive(Debug)]
pub(crate) struct WaitingLauncher {
    pub(crate) child: ChildProcess,
    pub(crate) control: UnixStream,
}

impl WaitingLauncher {
    /// Starts one; `forecast` are the rules for which it makes namespaces ready.
    pub(crate) fn start(program: &Path, forecast: Option<&ConfinementRules>) -> Result<Self> {
        let (control, theirs) = UnixStream::pair()?;
        let child = ChildProcess::start(program, LAUNCH, high_numbered_copy(&theirs)?, CONTROL)?;
        send(&control, &forecast)?;
        Ok(Self { child, control })
    }

    fn is_alive(&self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// It would end by itself, but perhaps as another process's child. It does nothing but wait, so it
    /// is gone in a moment.
    fn end(self) {
        let Self { child, control } = self;
        drop(control);
        child.end();
    }
}

/// Room for one. Whoever ran two commands is expected to run a third: from then on one waits.
#[derive(Debug, Clone, Default)]
pub struct PrestartedLauncher(Arc<PrestartSlot>);

#[derive(Debug, Default)]
struct PrestartSlot(Mutex<PrestartState>);

#[derive(Debug, Default)]
enum PrestartState {
    #[default]
    Unused,
    Used,
    /// The thread that starts it, and gives it.
    Ready(JoinHandle<Option<WaitingLauncher>>),
}

impl PrestartedLauncher {
    /// The one that waits. One that was killed meanwhile, or is being started, is none.
    pub(crate) fn take(&self) -> Option<WaitingLauncher> {
        let mut state = self.0.lock();
        match std::mem::replace(&mut *state, PrestartState::Used) {
            // Whoever asks may hold what the thread waits for.
            PrestartState::Ready(thread) if thread.is_finished() => {
                started(thread).filter(WaitingLauncher::is_alive)
            }
            before => {
                *state = before;
                None
            }
        }
    }

    /// A command has ended: sees to it that a launcher is there for the next one, without keeping anybody waiting.
    /// Without one, that one only takes a little longer.
    pub(crate) fn prepare(&self, program: &Path, forecast: Option<ConfinementRules>) {
        let mut state = self.0.lock();
        match *state {
            PrestartState::Ready(_) => return,
            PrestartState::Unused => return *state = PrestartState::Used,
            PrestartState::Used => {}
        }
        let program = program.to_owned();
        let thread = std::thread::Builder::new().name("jm-launcher".to_owned());
        if let Ok(thread) = thread.spawn(move || start_sheltered(&program, forecast.as_ref())) {
            *state = PrestartState::Ready(thread);
        }
    }
}

fn start_sheltered(program: &Path, forecast: Option<&ConfinementRules>) -> Option<WaitingLauncher> {
    // Those that were killed while they waited.
    reaper::bury();
    let mut control = None;
    let child = reaper::shelter(|| {
        let waiting = WaitingLauncher::start(program, forecast)?;
        control = Some(waiting.control);
        Ok(waiting.child)
    });
    Some(WaitingLauncher { child: child.ok()?, control: control? })
}

/// Waits for the thread. One that panicked has started none.
fn started(thread: JoinHandle<Option<WaitingLauncher>>) -> Option<WaitingLauncher> {
    thread.join().ok().flatten()
}

impl PrestartSlot {
    fn lock(&self) -> MutexGuard<'_, PrestartState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for PrestartSlot {
    fn drop(&mut self) {
        let state = std::mem::take(&mut *self.lock());
        if let PrestartState::Ready(thread) = state {
            started(thread).into_iter().for_each(WaitingLauncher::end);
        }
        reaper::await_leaving();
    }
}
