//! The budget of a look, and how much of it is spent.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The time, bytes and names that one look may cost.
#[derive(Debug, Clone, Copy)]
pub struct LookBudget {
    /// The longest that one look may take.
    pub time: Duration,
    /// Bytes that one look may hash.
    pub bytes: u64,
    /// Names that one look may meet, of directories too. Each takes about a hundred bytes of memory.
    pub names: usize,
    /// The files that are read within it.
    pub reads: ReadScope,
}

/// The files that a look reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadScope {
    /// All whose content is not known.
    Unknown,
    /// Those that moved since the look before, and none that it had no budget for.
    Moved,
}

impl Default for LookBudget {
    fn default() -> Self {
        let (time, reads) = (Duration::from_secs(5), ReadScope::Unknown);
        Self { time, bytes: 256 * 1024 * 1024, names: 1_200_000, reads }
    }
}

/// A look's budget, shared by the threads that spend it.
#[derive(Debug)]
pub(crate) struct LookLimits {
    pub(crate) budget: LookBudget,
    began: Instant,
    names: AtomicUsize,
    cut: OnceLock<String>,
}

impl LookLimits {
    pub(crate) fn new(budget: LookBudget) -> Self {
        let (began, names, cut) = (Instant::now(), AtomicUsize::new(0), OnceLock::new());
        Self { budget, began, names, cut }
    }

    /// Tells whether the scan has to end, with so many names more than were counted.
    pub(crate) fn is_cut(&self, more: usize) -> bool {
        if self.cut.get().is_some() {
            return true;
        }
        let why = if self.names.load(Ordering::Relaxed) + more >= self.budget.names {
            Some(format!("only the first {} names were looked at", self.budget.names))
        } else {
            let elapsed = self.began.elapsed();
            (elapsed > self.budget.time)
                .then(|| format!("after {:.1} s the rest was not looked at", elapsed.as_secs_f64()))
        };
        // The first reason counts.
        why.is_some_and(|why| !self.cut.get_or_init(|| why).is_empty())
    }

    pub(crate) fn is_out_of_time(&self) -> bool {
        self.began.elapsed() > self.budget.time
    }

    pub(crate) fn count(&self, names: usize) {
        self.names.fetch_add(names, Ordering::Relaxed);
    }

    /// The reason why the scan ended early.
    pub(crate) fn cut(&self) -> Option<String> {
        self.cut.get().cloned()
    }
}
