//! Launchers that wait for the next commands, so that a command need not wait for its launcher, nor for its
//! namespaces where the next one is expected to be like the last.
//!
//! Law: while it waits it holds nothing of ours but its end of a socket, and mounts in namespaces of its own. It ends when
//! ours closes, and never knows of a command that is not for it: an order is given whole or not at all.

use std::io::Result;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use super::child::ChildProcess;
use super::reaper;
use crate::contract::confinement_rules::ConfinementRules;
use crate::contract::descriptors::high_numbered_copy;
use crate::contract::message::send;
use crate::contract::protocol::{CONTROL, LAUNCH};

/// Launchers that wait at the most: more commands at once than this start the others themselves.
const MOST_WAITING: usize = 16;

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

/// Launchers that wait. Whoever ran two commands is expected to run a third: from then on one waits. Several do where
/// so many commands are about to run at once.
#[derive(Debug, Clone, Default)]
pub struct PrestartedLaunchers(Arc<PrestartPool>);

#[derive(Debug, Default)]
struct PrestartPool(Mutex<PrestartState>);

#[derive(Debug, Default)]
struct PrestartState {
    /// Commands that have ended.
    ended: usize,
    /// The launcher that is to wait next.
    next: Option<NextLauncher>,
    /// The threads that start one each, and give it.
    waiting: Vec<JoinHandle<Option<WaitingLauncher>>>,
}

/// A launcher that is to be started ahead.
#[derive(Debug, Clone)]
pub(crate) struct NextLauncher {
    pub(crate) program: PathBuf,
    /// The rules that it can prepare for.
    pub(crate) forecast: Option<ConfinementRules>,
}

impl PrestartedLaunchers {
    /// One that waits. One that was killed meanwhile, or is being started, is none.
    pub(crate) fn take(&self) -> Option<WaitingLauncher> {
        let mut state = self.0.lock();
        // Whoever asks may hold what the thread waits for.
        let place = state.waiting.iter().position(JoinHandle::is_finished)?;
        started(state.waiting.remove(place)).filter(WaitingLauncher::is_alive)
    }

    /// Notes that a command has ended, and which launcher the next one wants.
    pub(crate) fn command_ended(&self, next: NextLauncher) {
        let mut state = self.0.lock();
        state.ended += 1;
        state.next = Some(next);
    }

    /// The number of commands that have ended.
    pub(crate) fn ended(&self) -> usize {
        self.0.lock().ended
    }

    /// Sees to it that a launcher is there for the next command, without keeping anybody waiting. Without one, that
    /// command only takes a little longer.
    pub(crate) fn prepare(&self) {
        let mut state = self.0.lock();
        if let Some(next) = state.next.take().filter(|_| state.ended > 1) {
            state.start(&next, 1);
        }
    }

    /// Tells whether there is something to prepare.
    pub(crate) fn expects_more(&self) -> bool {
        let state = self.0.lock();
        state.ended > 1 && state.next.is_some()
    }

    /// The same for several commands that are about to run at once.
    pub(crate) fn expect(&self, next: &NextLauncher, count: usize) {
        self.0.lock().start(next, count.min(MOST_WAITING));
    }
}

impl PrestartState {
    /// Starts as many as are missing.
    fn start(&mut self, next: &NextLauncher, count: usize) {
        for _ in self.waiting.len()..count {
            let next = next.clone();
            let thread = std::thread::Builder::new().name("jm-launcher".to_owned());
            self.waiting.extend(thread.spawn(move || start_sheltered(&next)).ok());
        }
    }
}

fn start_sheltered(NextLauncher { program, forecast }: &NextLauncher) -> Option<WaitingLauncher> {
    // Those that were killed while they waited.
    reaper::bury();
    let mut control = None;
    let child = reaper::shelter(|| {
        let waiting = WaitingLauncher::start(program, forecast.as_ref())?;
        control = Some(waiting.control);
        Ok(waiting.child)
    });
    Some(WaitingLauncher { child: child.ok()?, control: control? })
}

/// Waits for the thread. One that panicked has started none.
fn started(thread: JoinHandle<Option<WaitingLauncher>>) -> Option<WaitingLauncher> {
    thread.join().ok().flatten()
}

impl PrestartPool {
    fn lock(&self) -> MutexGuard<'_, PrestartState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for PrestartPool {
    fn drop(&mut self) {
        let waiting = std::mem::take(&mut self.lock().waiting);
        waiting.into_iter().filter_map(started).for_each(WaitingLauncher::end);
        reaper::await_leaving();
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::time::{Duration, Instant};

    use super::*;

    /// A program that takes no order.
    fn next(folder: &Path) -> NextLauncher {
        let program = folder.join("launcher");
        std::fs::write(&program, "#!/bin/sh\nexec sleep 60\n").unwrap();
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        NextLauncher { program, forecast: None }
    }

    fn taken(pool: &PrestartedLaunchers, count: usize) -> Vec<WaitingLauncher> {
        let until = Instant::now() + Duration::from_secs(20);
        let mut taken = Vec::new();
        while taken.len() < count {
            assert!(Instant::now() < until, "{} of {count}", taken.len());
            taken.extend(pool.take());
        }
        taken
    }

    #[test]
    fn as_many_wait_as_were_expected() {
        let folder = tempfile::tempdir().unwrap();
        let (pool, next) = (PrestartedLaunchers::default(), next(folder.path()));
        pool.expect(&next, 2);
        pool.expect(&next, 3);
        pool.expect(&next, 1);
        let launchers = taken(&pool, 3);
        assert!(pool.take().is_none(), "no fourth one was started");
        launchers.into_iter().for_each(WaitingLauncher::end);
    }

    #[test]
    fn one_is_prepared_when_two_commands_have_ended() {
        let folder = tempfile::tempdir().unwrap();
        let (pool, next) = (PrestartedLaunchers::default(), next(folder.path()));
        pool.command_ended(next.clone());
        assert!(!pool.expects_more());
        pool.command_ended(next);
        assert!(pool.expects_more());
        pool.prepare();
        assert!(!pool.expects_more(), "it is being started");
        pool.prepare();
        let launchers = taken(&pool, 1);
        assert!(pool.take().is_none(), "one is enough");
        launchers.into_iter().for_each(WaitingLauncher::end);
    }
}
