//! The input of a job: from names of keys to bytes, and into a pipe or a terminal.
//!
//! Law: typing never blocks. What a command does not read in time is not taken, and that is said.

use std::time::{Duration, Instant};

use jm_types::ignore_error;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::io::{self, Errno};

use super::keys::{Arrows, NamedKey, TerminalKey};
use super::protocol::{JobAnswer, Typed, TypedCount};
use super::screen::TerminalScreen;

/// The time that a command may take to make room in its input.
const PATIENCE: Duration = Duration::from_secs(1);

/// Our end of a command's input.
pub(super) struct Typing {
    /// Gone when it was closed.
    fd: Option<OwnedFd>,
    is_terminal: bool,
}

/// The bytes of typed text and keys.
pub(super) struct Encoded {
    bytes: Vec<u8>,
    /// The input ends after them.
    ends: bool,
    /// A key that only a terminal has.
    misfit: Option<TerminalKey>,
}

impl Typing {
    pub(super) fn terminal(fd: OwnedFd) -> Self {
        Self { fd: Some(fd), is_terminal: true }
    }

    pub(super) fn pipe(fd: OwnedFd) -> Self {
        Self { fd: Some(fd), is_terminal: false }
    }

    pub(super) fn never_block(&self) -> io::Result<()> {
        self.fd.as_ref().map_or(Ok(()), |fd| rustix::io::ioctl_fionbio(fd, true))
    }

    /// For the terminal of this screen, or for a pipe.
    pub(super) fn encode(typed: &[Typed], screen: Option<&TerminalScreen>) -> Encoded {
        let mut encoded = Encoded { bytes: Vec::new(), ends: false, misfit: None };
        for one in typed {
            match (one, screen) {
                (Typed::Text(text), _) => encoded.bytes.extend_from_slice(text.as_bytes()),
                (Typed::Key(key), Some(screen)) => {
                    encoded.bytes.extend(key.bytes(screen.arrows()));
                }
                (Typed::Key(TerminalKey::END_OF_INPUT), None) => encoded.ends = true,
                (Typed::Key(TerminalKey::Named(NamedKey::Enter)), None) => {
                    encoded.bytes.push(b'\n')
                }
                (Typed::Key(key @ TerminalKey::Named(NamedKey::Tab | NamedKey::Space)), None) => {
                    encoded.bytes.extend(key.bytes(Arrows::Plain));
                }
                (Typed::Key(key), None) => encoded.misfit = Some(*key),
            }
        }
        encoded
    }

    pub(super) fn take(&mut self, encoded: Encoded) -> JobAnswer {
        if let (Some(key), false) = (encoded.misfit, self.is_terminal) {
            return JobAnswer::Refused(format!(
                "it has no terminal, so the key {key} means nothing to it"
            ));
        }
        let offered = encoded.bytes.len();
        let until = Instant::now() + PATIENCE;
        let mut bytes = 0;
        while bytes < offered {
            let Some(fd) = &self.fd else { break };
            match rustix::io::write(fd, &encoded.bytes[bytes..]) {
                Ok(count) => bytes += count,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) if Instant::now() < until => await_room(fd, until),
                Err(Errno::AGAIN) => break,
                // EPIPE: no process reads any more.
                Err(_) => self.fd = None,
            }
        }
        if encoded.ends && bytes == offered {
            self.fd = None;
        }
        JobAnswer::Taken(TypedCount { bytes, offered, is_closed: self.fd.is_none() })
    }
}

fn await_room(fd: &OwnedFd, until: Instant) {
    let left = until.saturating_duration_since(Instant::now());
    let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(left.subsec_nanos()) };
    ignore_error(
        poll(&mut [PollFd::new(fd, PollFlags::OUT)], Some(&timeout)),
        "interrupted or not, the next write finds out",
    );
}
