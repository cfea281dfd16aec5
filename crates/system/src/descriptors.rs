//! File descriptors that several parts of the program open in the same way.

use std::io::Result;
use std::path::Path;

use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};

/// Opens `/dev/null`: an input without bytes, an output that is dropped.
pub fn open_dev_null() -> Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    Ok(rustix::fs::open("/dev/null", flags, Mode::empty())?)
}

/// Opens a directory by its path, close-on-exec.
pub fn open_directory_at(path: &Path) -> Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}
