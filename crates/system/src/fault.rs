//! Named places where a test can make the disk fail, or the process die.
//!
//! Law: without the feature `failpoints` a point is nothing at all.

use rustix::io;

/// A place in the code, and which file of the change it is about (from 1).
#[cfg(not(feature = "failpoints"))]
pub fn fail_point(_name: &str, _nth: usize) -> io::Result<()> {
    Ok(())
}

/// A place in the code, and which file of the change it is about (from 1).
#[cfg(feature = "failpoints")]
pub fn fail_point(name: &str, nth: usize) -> io::Result<()> {
    crash::here(name);
    full::answer(name)?;
    plan::answer(name, nth)
}

/// A place between two durable steps.
#[cfg(not(feature = "failpoints"))]
pub fn crash_point(_name: &str) {}

/// A place between two durable steps.
#[cfg(feature = "failpoints")]
pub fn crash_point(name: &str) {
    crash::here(name);
}

#[cfg(feature = "failpoints")]
pub use plan::{clear, fail_at};

/// `JM_CRASH=name:3` kills the process the third time it comes by `name`, as a power cut would;
/// `JM_CRASH_LOG=file` writes down the name of every place that is passed.
#[cfg(feature = "failpoints")]
mod crash {
    use std::collections::HashMap;
    use std::io::Write;
    use std::sync::{LazyLock, Mutex, PoisonError};

    use jm_types::ignore_error;
    use rustix::process::{Signal, getpid, kill_process};

    static PASSED: LazyLock<Mutex<HashMap<String, usize>>> = LazyLock::new(Mutex::default);
    static WANTED: LazyLock<Option<(String, usize)>> = LazyLock::new(|| {
        let wanted = std::env::var("JM_CRASH").ok()?;
        let (name, count) = wanted.rsplit_once(':')?;
        Some((name.to_owned(), count.parse().ok()?))
    });

    pub(super) fn here(name: &str) {
        let mut passed = PASSED.lock().unwrap_or_else(PoisonError::into_inner);
        let count = passed.entry(name.to_owned()).or_default();
        *count += 1;
        if let Some(log) = std::env::var_os("JM_CRASH_LOG") {
            let file = std::fs::OpenOptions::new().append(true).create(true).open(log);
            let written = file.and_then(|mut file| writeln!(file, "{name}"));
            ignore_error(written, "a log that cannot be written fails the test that reads it");
        }
        if WANTED.as_ref().is_some_and(|(wanted, nth)| wanted == name && nth == count) {
            ignore_error(
                kill_process(getpid(), Signal::KILL),
                "a process that cannot be killed fails the test",
            );
        }
    }
}

/// `JM_FULL=name:3` fills the disk when the process comes by `name` for the third time: from then on
/// nothing more can be written.
#[cfg(feature = "failpoints")]
mod full {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use rustix::io::{self, Errno};

    /// The places that take space.
    const WRITING: &[&str] = &["commit.create", "commit.write"];

    static PASSED: AtomicUsize = AtomicUsize::new(0);

    pub(super) fn answer(name: &str) -> io::Result<()> {
        let Ok(wanted) = std::env::var("JM_FULL") else { return Ok(()) };
        let (place, nth) = wanted.rsplit_once(':').unwrap_or((&wanted, "1"));
        if place == name {
            PASSED.fetch_add(1, Ordering::Relaxed);
        }
        let is_full = nth.parse().is_ok_and(|nth: usize| PASSED.load(Ordering::Relaxed) >= nth);
        if is_full && WRITING.contains(&name) { Err(Errno::NOSPC) } else { Ok(()) }
    }
}

#[cfg(feature = "failpoints")]
mod plan {
    use std::cell::RefCell;

    use rustix::io::{self, Errno};

    type Fault = (String, usize, Errno);

    thread_local! {
        static FAULTS: RefCell<Vec<Fault>> = const { RefCell::new(Vec::new()) };
    }

    /// From now on, on this thread, the `nth` file fails at `name` with `error`.
    pub fn fail_at(name: &str, nth: usize, error: Errno) {
        FAULTS.with_borrow_mut(|faults| faults.push((name.to_owned(), nth, error)));
    }

    /// Forgets all faults of this thread.
    pub fn clear() {
        FAULTS.with_borrow_mut(Vec::clear);
    }

    /// `JM_FAIL=name:2` does the same for the whole process: its second file is refused at `name`.
    fn is_ordered(name: &str, nth: usize) -> bool {
        let wanted = std::env::var("JM_FAIL").unwrap_or_default();
        wanted.rsplit_once(':') == Some((name, nth.to_string().as_str()))
    }

    pub(crate) fn answer(name: &str, nth: usize) -> io::Result<()> {
        if is_ordered(name, nth) {
            return Err(Errno::PERM);
        }
        FAULTS.with_borrow(|faults| {
            let hit =
                faults.iter().find(|(fail_point, which, _)| fail_point == name && *which == nth);
            hit.map_or(Ok(()), |(_, _, error)| Err(*error))
        })
    }
}
