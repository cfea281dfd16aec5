//! A terminal that is no device: a pair of ends, one for us and one for a program.

use std::io::Result;

use rustix::fd::OwnedFd;
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::contract::terminal_size::TerminalSize;

/// Our end, and the program's. Neither becomes our own terminal.
pub(crate) fn open(size: TerminalSize) -> Result<(OwnedFd, OwnedFd)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let ours = openpt(flags)?;
    unlockpt(&ours)?;
    let theirs = ioctl_tiocgptpeer(&ours, flags)?;
    let (ws_row, ws_col) = (size.rows, size.columns);
    tcsetwinsize(&theirs, Winsize { ws_row, ws_col, ws_xpixel: 0, ws_ypixel: 0 })?;
    Ok((ours, theirs))
}
