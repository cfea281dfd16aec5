//! A descriptor from one process to another, over a socket that both hold.

use std::io::{Error, ErrorKind, IoSlice, IoSliceMut, Result};
use std::mem::MaybeUninit;

use rustix::fd::{AsFd, OwnedFd};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

pub(crate) fn give(to: impl AsFd, what: impl AsFd) -> Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut message = SendAncillaryBuffer::new(&mut space);
    let fds = [what.as_fd()];
    if !message.push(SendAncillaryMessage::ScmRights(&fds)) {
        return Err(Error::from(ErrorKind::InvalidInput));
    }
    sendmsg(to, &[IoSlice::new(b"d")], &mut message, SendFlags::empty())?;
    Ok(())
}

/// Waits for it. `None` when the other side is gone without having given one.
pub(crate) fn take(from: impl AsFd) -> Option<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut message = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0_u8; 1];
    let mut parts = [IoSliceMut::new(&mut byte)];
    recvmsg(from, &mut parts, &mut message, RecvFlags::CMSG_CLOEXEC).ok()?;
    message.drain().find_map(|part| match part {
        RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
        _ => None,
    })
}
