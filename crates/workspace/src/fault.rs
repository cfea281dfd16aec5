//! Named places where a test can make the disk fail.
//!
//! Law: without the feature `failpoints` a point is nothing at all.

use rustix::io;

/// A place in the code, and which file of the change it is about (from 1).
#[cfg(not(feature = "failpoints"))]
pub(crate) fn point(_name: &str, _nth: usize) -> io::Result<()> {
    Ok(())
}

#[cfg(feature = "failpoints")]
pub(crate) fn point(name: &str, nth: usize) -> io::Result<()> {
    plan::answer(name, nth)
}

#[cfg(feature = "failpoints")]
pub use plan::{clear, fail_at};

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

    pub fn clear() {
        FAULTS.with_borrow_mut(Vec::clear);
    }

    pub(crate) fn answer(name: &str, nth: usize) -> io::Result<()> {
        FAULTS.with_borrow(|faults| {
            let hit = faults.iter().find(|(point, which, _)| point == name && *which == nth);
            hit.map_or(Ok(()), |(_, _, error)| Err(*error))
        })
    }
}
