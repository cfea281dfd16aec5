//! The person's terminal, when there is one to ask at.
//!
//! Law: an answer is typed after the question was shown. What was typed ahead, or pasted, is
//! thrown away. A question that was cancelled reads nothing: what is typed is for
//! whoever asks next.

use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal, Result};
use std::os::fd::{AsFd, BorrowedFd};

use jm_types::{Cancel, ignore_error};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::termios::{
    LocalModes, OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcsetattr,
};

/// Between the question and the first answer that counts.
const GUARD: Timespec = Timespec { tv_sec: 0, tv_nsec: 300_000_000 };

/// After this long without a word somebody may wonder.
const SILENCE: Timespec = Timespec { tv_sec: 2, tv_nsec: 0 };

/// The modes of the terminal when we came (termios); they are set again when this is dropped.
#[derive(Debug)]
pub struct TerminalModes(Option<Termios>);

impl TerminalModes {
    /// Reads the modes of standard input; where that is no terminal, nothing is set later.
    pub fn keep() -> Self {
        Self(tcgetattr(std::io::stdin()).ok())
    }
}

impl Drop for TerminalModes {
    fn drop(&mut self) {
        if let Some(modes) = &self.0 {
            ignore_error(
                tcsetattr(std::io::stdin(), OptionalActions::Now, modes),
                "a terminal that is gone needs none",
            );
        }
    }
}

/// The controlling terminal, from which a person's answers are read.
#[derive(Debug)]
pub struct Terminal {
    input: BufReader<File>,
}

impl Terminal {
    /// The controlling terminal, if questions on standard error would be seen there.
    pub fn open() -> Option<Self> {
        if !std::io::stderr().is_terminal() {
            return None;
        }
        File::open("/dev/tty").ok().map(|tty| Self { input: BufReader::new(tty) })
    }

    /// The next line the person types; nothing at the end of input.
    pub fn answer(&mut self) -> Result<Option<String>> {
        self.answer_unless(&Cancel::new())
    }

    /// The same, and nothing once the question is cancelled.
    pub fn answer_unless(&mut self, cancel: &Cancel) -> Result<Option<String>> {
        let (cancelled, wake) = pipe_with(PipeFlags::CLOEXEC)?;
        cancel.on_cancel(move || {
            ignore_error(
                rustix::io::write(&wake, b"x"),
                "the pipe is only ever written here; a full one has said it already",
            );
        });
        if is_ready(&[cancelled.as_fd()], Some(&GUARD))? {
            return Ok(None);
        }
        self.discard_typed_ahead()?;
        is_ready(&[cancelled.as_fd(), self.input.get_ref().as_fd()], None)?;
        if cancel.is_cancelled() {
            return Ok(None);
        }
        let mut line = String::new();
        let count = self.input.read_line(&mut line)?;
        Ok((count > 0).then(|| line.trim().to_owned()))
    }

    /// The same for what nobody may read over the person's shoulder.
    pub fn secret(&mut self) -> Result<Option<String>> {
        let tty = self.input.get_ref();
        let modes = tcgetattr(tty)?;
        let mut silent = modes.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        tcsetattr(tty, OptionalActions::Flush, &silent)?;
        let answer = self.answer();
        tcsetattr(self.input.get_ref(), OptionalActions::Now, &modes)?;
        answer
    }

    fn discard_typed_ahead(&mut self) -> Result<()> {
        let buffered = self.input.buffer().len();
        self.input.consume(buffered);
        tcflush(self.input.get_ref(), QueueSelector::IFlush).map_err(Into::into)
    }
}

/// Tells whether standard input has neither bytes nor an end for a while.
pub fn input_is_silent() -> bool {
    is_ready(&[std::io::stdin().as_fd()], Some(&SILENCE)).is_ok_and(|ready| !ready)
}

/// Waits until one of them can be read; whether that was so in time.
fn is_ready(sources: &[BorrowedFd<'_>], patience: Option<&Timespec>) -> Result<bool> {
    let mut wanted: Vec<PollFd<'_>> =
        sources.iter().map(|source| PollFd::from_borrowed_fd(*source, PollFlags::IN)).collect();
    Ok(retry_on_intr(|| poll(&mut wanted, patience))? > 0)
}
