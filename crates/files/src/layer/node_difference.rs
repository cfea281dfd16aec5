//! Copies of the upper that equal what lies beneath: the overlay copies a file up before it knows of a change.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{self, Mode, OFlags};
use rustix::io;

use super::node::{NodeFacts, NodeKind, attributes};

/// Says if a node of the upper is what lies beneath: attributes, time and content.
pub(super) fn is_same(
    (upper, lower): (&OwnedFd, &OwnedFd),
    name: &OsStr,
    before: &NodeFacts,
    after: &NodeFacts,
) -> io::Result<bool> {
    if !after.has_attributes_of(before) {
        return Ok(false);
    }
    match after.kind {
        NodeKind::File => {
            let (size, time) = (after.size == before.size, after.modified == before.modified);
            Ok(size && time && is_same_file((upper, lower), name).unwrap_or(false))
        }
        NodeKind::Link => {
            let target = |side: &OwnedFd| fs::readlinkat(side, name, Vec::new());
            Ok(after.modified == before.modified && target(upper)? == target(lower)?)
        }
        // What runs through them is not in the file system; their time is the overlay's own.
        NodeKind::Fifo | NodeKind::Socket => Ok(true),
        NodeKind::Directory | NodeKind::Whiteout | NodeKind::Device => Ok(false),
    }
}

fn is_same_file((upper, lower): (&OwnedFd, &OwnedFd), name: &OsStr) -> std::io::Result<bool> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let open = |side: &OwnedFd| fs::openat(side, name, flags, Mode::empty());
    let (above, beneath) = (open(upper)?, open(lower)?);
    if attributes(above.as_fd())? != attributes(beneath.as_fd())? {
        return Ok(false);
    }
    let (mut above, mut beneath) = (File::from(above), File::from(beneath));
    let (mut left, mut right) = (vec![0; 256 * 1024], vec![0; 256 * 1024]);
    loop {
        let read = above.read(&mut left)?;
        if read == 0 {
            return Ok(beneath.read(&mut right[..1])? == 0);
        }
        if beneath.read_exact(&mut right[..read]).is_err() || left[..read] != right[..read] {
            return Ok(false);
        }
    }
}
