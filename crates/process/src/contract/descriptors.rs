//! Descriptors from one process to another, over a socket that both hold.

use std::io::{Error, ErrorKind, IoSlice, IoSliceMut, Result};
use std::mem::MaybeUninit;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use super::protocol::FREE;

/// More than a launcher is ever given.
const MOST: usize = 16;

pub(crate) fn send_descriptor(to: impl AsFd, what: impl AsFd) -> Result<()> {
    send_descriptors(to, &[what.as_fd()])
}

pub(crate) fn send_descriptors(to: impl AsFd, what: &[BorrowedFd<'_>]) -> Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut message = SendAncillaryBuffer::new(&mut space);
    if !message.push(SendAncillaryMessage::ScmRights(what)) {
        return Err(Error::from(ErrorKind::InvalidInput));
    }
    sendmsg(to, &[IoSlice::new(b"d")], &mut message, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Waits for it. `None` when the other side is gone without having given one.
pub(crate) fn receive_descriptor(from: impl AsFd) -> Option<OwnedFd> {
    receive_descriptors(from).into_iter().next()
}

/// Waits for them. None when the other side is gone without having given any.
pub(crate) fn receive_descriptors(from: impl AsFd) -> Vec<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut message = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0_u8; 1];
    let mut parts = [IoSliceMut::new(&mut byte)];
    if recvmsg(from, &mut parts, &mut message, RecvFlags::CMSG_CLOEXEC).is_err() {
        return Vec::new();
    }
    let rights = message.drain().filter_map(|part| match part {
        RecvAncillaryMessage::ScmRights(fds) => Some(fds),
        _ => None,
    });
    rights.flatten().collect()
}

/// A copy with a number that is none of the launcher's.
pub(crate) fn high_numbered_copy(fd: &impl AsFd) -> Result<OwnedFd> {
    Ok(rustix::io::fcntl_dupfd_cloexec(fd, FREE)?)
}
