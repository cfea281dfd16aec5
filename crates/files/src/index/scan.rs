//! The scan of a workspace: each directory is listed and each name looked at with `fstatat`, by a few
//! threads, without reading a file.
//!
//! Law: what is found does not depend on how many threads there are. A directory is entered by
//! descriptor from the one above it, never through a link, and one that cannot be entered is named. A
//! directory of which nothing new is to be said shares the table that is known.

use std::num::NonZero;
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::folder::{Findings, FolderGround, FolderJob};
use crate::file::OpenDirectory;

/// More threads than this wait for the kernel rather than work.
const MOST_THREADS: usize = 8;
/// A tree with fewer directories waiting is done before a thread has begun.
const FEW_FOLDERS: usize = 8;

/// A scan at work.
#[derive(Debug)]
pub(crate) struct Scan<'a> {
    ground: FolderGround<'a>,
    queue: Mutex<FolderQueue>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct FolderQueue {
    /// The last is taken first, so that few directories are open at a time.
    jobs: Vec<FolderJob>,
    /// Directories that are being looked at; each may bring more.
    working: usize,
}

/// The number of threads that are worth it on this machine.
pub(crate) fn thread_count() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get).min(MOST_THREADS)
}

impl<'a> Scan<'a> {
    pub(crate) fn new(ground: FolderGround<'a>) -> Self {
        Self { ground, queue: Mutex::default(), changed: Condvar::new() }
    }

    /// Looks at the whole tree. The second is the reason why it ended early.
    pub(crate) fn run(self, threads: usize) -> (Findings, Option<String>) {
        let unreadable =
            || format!("{} cannot be read", self.ground.sandbox.working_root().path().display());
        let Ok(directory) = OpenDirectory::beneath(self.ground.sandbox, Path::new("")) else {
            return (Findings::default(), Some(unreadable()));
        };
        self.queue().jobs.push(FolderJob::root(directory));
        let mut findings = Findings::default();
        std::thread::scope(|scope| {
            let mut helpers = Vec::new();
            while let Some(turn) = self.next_turn() {
                if helpers.is_empty() && self.queue().jobs.len() >= FEW_FOLDERS {
                    let start = |_| {
                        let thread = std::thread::Builder::new().name("look".to_owned());
                        // Without another thread this one does all of it.
                        thread.spawn_scoped(scope, || self.help()).ok()
                    };
                    helpers.extend((1..threads).filter_map(start));
                }
                turn.take(&mut findings);
            }
            for helper in helpers {
                match helper.join() {
                    Ok(theirs) => findings.add(theirs),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
        });
        let is_closed = findings.closed.iter().any(|(path, _)| path.is_empty());
        let cut = if is_closed { Some(unreadable()) } else { self.ground.limits.cut() };
        (findings, cut)
    }

    fn help(&self) -> Findings {
        let mut findings = Findings::default();
        while let Some(turn) = self.next_turn() {
            turn.take(&mut findings);
        }
        findings
    }

    fn queue(&self) -> MutexGuard<'_, FolderQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next directory; `None` when all were looked at, or a budget is used up.
    fn next_turn(&self) -> Option<FolderTurn<'_, 'a>> {
        let mut queue = self.queue();
        while queue.jobs.is_empty() && queue.working > 0 {
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        if queue.jobs.is_empty() || self.ground.limits.is_cut(0) {
            return None;
        }
        queue.working += 1;
        Some(FolderTurn { scan: self, job: queue.jobs.pop(), below: Vec::new() })
    }
}

/// One directory that a thread looks at. However it ends, the others do not wait for it.
struct FolderTurn<'s, 'a> {
    scan: &'s Scan<'a>,
    job: Option<FolderJob>,
    below: Vec<FolderJob>,
}

impl FolderTurn<'_, '_> {
    fn take(mut self, findings: &mut Findings) {
        if let Some(job) = self.job.take() {
            self.below = job.look(self.scan.ground, findings);
        }
    }
}

impl Drop for FolderTurn<'_, '_> {
    fn drop(&mut self) {
        let mut queue = self.scan.queue();
        queue.jobs.append(&mut self.below);
        queue.working -= 1;
        drop(queue);
        self.scan.changed.notify_all();
    }
}
