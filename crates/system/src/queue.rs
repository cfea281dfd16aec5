//! Ticket queue between processes: record locks on open file descriptions (`F_OFD_SETLK`) in one small file.
//!
//! Law: first come, first served. A process that dies leaves the queue, because the kernel drops its locks.
//! The queue is order and nothing else: who has waited for too long, or finds no order, goes on without.

use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jm_types::ignore_error;
use rustix::fs::OFlags;

/// The byte whose lock guards the file's content. Ticket `t` is the byte after it and `t` others.
const COUNTER: i64 = 0;
/// The file holds two numbers: the next ticket, and the one that was served last.
const NEXT: u64 = 0;
const SERVED: u64 = 8;
/// Tickets begin anew before an offset could overflow.
const TICKETS: i64 = 1 << 62;

/// Pauses of those who are next, for each one before them, and at most.
const SHORTEST: Duration = Duration::from_micros(200);
const EACH: Duration = Duration::from_micros(300);
const LONGEST: Duration = Duration::from_millis(5);

/// One place in the queue at a time: each user of a queue opens it anew.
#[derive(Debug)]
pub struct TicketQueue {
    file: Arc<File>,
}

/// A ticket whose turn has come, or whose holder waits no longer; dropping it lets the next one go on.
#[derive(Debug)]
pub struct TicketTurn {
    file: Arc<File>,
    ticket: i64,
}

impl TicketQueue {
    /// Opens the queue's file, and makes it if it is missing.
    pub fn open(path: &Path) -> Result<Self> {
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(flags.bits().cast_signed())
            .open(path)?;
        if !file.metadata()?.is_file() {
            return Err(Error::new(ErrorKind::InvalidInput, "is not a regular file"));
        }
        Ok(Self { file: Arc::new(file) })
    }

    /// Returns when all who asked before have had their turn, or when `patience` is over. `None` where the
    /// file cannot be used.
    pub fn turn(&self, patience: Duration) -> Option<TicketTurn> {
        let until = Instant::now() + patience;
        let turn = self.draw(until).ok()?;
        while turn.is_any_before().unwrap_or(false) && Instant::now() < until {
            std::thread::sleep(turn.pause());
        }
        Some(turn)
    }

    fn draw(&self, until: Instant) -> Result<TicketTurn> {
        while !lock(&self.file, libc::F_WRLCK, COUNTER)? {
            if Instant::now() >= until {
                return Err(ErrorKind::TimedOut.into());
            }
            std::thread::sleep(SHORTEST);
        }
        let drawn = self.take_number();
        lock(&self.file, libc::F_UNLCK, COUNTER)?;
        drawn
    }

    fn take_number(&self) -> Result<TicketTurn> {
        let ticket = number(&self.file, NEXT)?.rem_euclid(TICKETS);
        self.file.write_all_at(&(ticket + 1).to_le_bytes(), NEXT)?;
        if lock(&self.file, libc::F_WRLCK, ticket + 1)? {
            Ok(TicketTurn { file: Arc::clone(&self.file), ticket })
        } else {
            // The file was put back to an older state, and another process has this number already.
            Err(ErrorKind::AlreadyExists.into())
        }
    }
}

impl TicketTurn {
    fn is_any_before(&self) -> Result<bool> {
        // A length of 0 would mean all bytes there are.
        Ok(self.ticket > 0 && is_locked(&self.file, COUNTER + 1, self.ticket)?)
    }

    /// The pause before the next look: shorter near the head of the queue. Without the number it is next.
    fn pause(&self) -> Duration {
        let served = number(&self.file, SERVED).unwrap_or(self.ticket);
        let before = u32::try_from(self.ticket.saturating_sub(served)).unwrap_or(0);
        EACH.saturating_mul(before.saturating_sub(1)).clamp(SHORTEST, LONGEST)
    }
}

impl Drop for TicketTurn {
    fn drop(&mut self) {
        ignore_error(
            self.file.write_all_at(&self.ticket.to_le_bytes(), SERVED),
            "only how often others look depends on it",
        );
        ignore_error(
            lock(&self.file, libc::F_UNLCK, self.ticket + 1),
            "the kernel drops the lock with the file",
        );
    }
}

/// A number of the file; 0 where it is not written yet.
fn number(file: &File, at: u64) -> Result<i64> {
    let mut bytes = [0; 8];
    match file.read_exact_at(&mut bytes, at) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(0),
        read => read.map(|()| i64::from_le_bytes(bytes)),
    }
}

/// Locks or unlocks one byte without waiting; `false` when another has it.
fn lock(file: &File, kind: libc::c_int, byte: i64) -> Result<bool> {
    match record_lock(file, libc::F_OFD_SETLK, kind, byte, 1) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
        Err(error) => Err(error),
    }
}

/// Another open file holds a lock on one of these bytes.
fn is_locked(file: &File, first: i64, count: i64) -> Result<bool> {
    let found = record_lock(file, libc::F_OFD_GETLK, libc::F_WRLCK, first, count)?;
    Ok(libc::c_int::from(found.l_type) != libc::F_UNLCK)
}

#[allow(unsafe_code)]
fn record_lock(
    file: &File,
    operation: libc::c_int,
    kind: libc::c_int,
    first: i64,
    count: i64,
) -> Result<libc::flock> {
    let kind = libc::c_short::try_from(kind).map_err(Error::other)?;
    let whence = libc::c_short::try_from(libc::SEEK_SET).map_err(Error::other)?;
    // An OFD lock has no process: its number must be 0.
    let mut range =
        libc::flock { l_type: kind, l_whence: whence, l_start: first, l_len: count, l_pid: 0 };
    // SAFETY: the descriptor is open, and the kernel reads and writes the structure during the call only.
    let outcome = unsafe { libc::fcntl(file.as_raw_fd(), operation, &raw mut range) };
    if outcome == -1 { Err(Error::last_os_error()) } else { Ok(range) }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn soon() -> Instant {
        Instant::now() + LONG
    }

    #[test]
    fn first_come_first_served() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("queue");
        let served = Mutex::new(Vec::new());
        let holder = TicketQueue::open(&path).unwrap();
        let first = holder.turn(LONG).unwrap();
        std::thread::scope(|scope| {
            for place in 1..=16 {
                let (path, served) = (&path, &served);
                scope.spawn(move || {
                    let queue = TicketQueue::open(path).unwrap();
                    let turn = queue.turn(LONG).unwrap();
                    served.lock().unwrap().push(turn.ticket);
                });
                // The next one comes when this one is in the queue.
                while number(&holder.file, NEXT).unwrap() <= place {
                    std::thread::yield_now();
                }
            }
            assert!(served.lock().unwrap().is_empty());
            drop(first);
        });
        assert_eq!(*served.lock().unwrap(), (1..=16).collect::<Vec<_>>());
    }

    #[test]
    fn who_dies_in_the_queue_is_waited_for_no_longer_and_nobody_overtakes() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("queue");
        let queues: Vec<TicketQueue> = (0..3).map(|_| TicketQueue::open(&path).unwrap()).collect();
        let [holder, dead, last] = queues.try_into().unwrap();
        let holder = holder.draw(soon()).unwrap();
        let waiting = dead.draw(soon()).unwrap();
        let last = last.draw(soon()).unwrap();
        // As the kernel does when a process ends.
        lock(&dead.file, libc::F_UNLCK, waiting.ticket + 1).unwrap();
        assert!(last.is_any_before().unwrap(), "the holder is still at work");
        drop(holder);
        assert!(!last.is_any_before().unwrap());
    }

    #[test]
    fn who_has_waited_for_too_long_goes_on() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("queue");
        let _stuck = TicketQueue::open(&path).unwrap().turn(LONG).unwrap();
        let waiter = TicketQueue::open(&path).unwrap();
        assert!(waiter.turn(Duration::from_millis(20)).is_some());
    }
}
