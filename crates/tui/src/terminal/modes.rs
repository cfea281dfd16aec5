//! Modes of the terminal: raw input, and the sequences that turn things on and off.
//!
//! Law: whatever is turned on is turned off when this is dropped, by a panic too.

use std::io;

use rustix::stdio::{stdin, stdout};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

/// Synchronised output: the terminal shows the frame when it is whole.
pub(super) const BEGIN_FRAME: &str = "\x1b[?2026h";
pub(super) const END_FRAME: &str = "\x1b[?2026l";
pub(super) const HIDE_CURSOR: &str = "\x1b[?25l";
pub(super) const SHOW_CURSOR: &str = "\x1b[?25h";
/// Rows of the live region are cut where they are wider than we thought, never wrapped.
pub(super) const NO_WRAP: &str = "\x1b[?7l";
pub(super) const WRAP: &str = "\x1b[?7h";
/// The alternate screen, empty.
pub(super) const ENTER_FULL: &str = "\x1b[?1049h\x1b[H\x1b[J";
pub(super) const LEAVE_FULL: &str = "\x1b[?1049l";

/// Bracketed paste; and, where asked for, keys that say which they are (kitty's protocol).
pub fn begin(keyboard: bool) -> &'static str {
    if keyboard { "\x1b[?2004h\x1b[>1u" } else { "\x1b[?2004h" }
}

/// Everything off again. What fills the screen is left first.
pub fn end(keyboard: bool, is_full: bool) -> String {
    let full = if is_full { LEAVE_FULL } else { "" };
    let keyboard = if keyboard { "\x1b[<u" } else { "" };
    format!("{END_FRAME}{full}{keyboard}\x1b[?2004l{WRAP}\x1b[0m{SHOW_CURSOR}")
}

/// For a program that dies: also what we never turn on, and a new line. Nothing but that line is erased:
/// the shell may have said something by then.
pub fn rescue(keyboard: bool, is_full: bool) -> String {
    format!("{}\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\r\n\x1b[K", end(keyboard, is_full))
}

/// Keys come one by one and unseen, until this is dropped.
#[derive(Debug)]
pub struct RawMode {
    before: Termios,
}

impl RawMode {
    /// Switches echo and line editing off, until this is dropped.
    pub fn enter() -> io::Result<Self> {
        let before = tcgetattr(stdin())?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(stdin(), OptionalActions::Now, &raw)?;
        Ok(Self { before })
    }

    /// As it was before, for as long as somebody else has the terminal.
    pub fn leave(&self) -> io::Result<()> {
        tcsetattr(stdin(), OptionalActions::Now, &self.before).map_err(Into::into)
    }

    /// Does so again after another program had the terminal.
    pub fn enter_again(&self) -> io::Result<()> {
        let mut raw = self.before.clone();
        raw.make_raw();
        tcsetattr(stdin(), OptionalActions::Now, &raw).map_err(Into::into)
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing.
        self.leave().unwrap_or_default();
    }
}

/// The terminal's own descriptor, unbuffered: a frame is one write.
#[derive(Debug, Clone, Copy, Default)]
pub struct TerminalOutput;

impl io::Write for TerminalOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        rustix::io::retry_on_intr(|| rustix::io::write(stdout(), bytes)).map_err(Into::into)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Columns and rows, asked of the kernel at each frame.
pub fn size() -> (usize, usize) {
    match tcgetwinsize(stdout()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col.into(), size.ws_row.into()),
        _ => (80, 24),
    }
}
