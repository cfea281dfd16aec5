//! The order of a launcher, and the descriptors that come before it (`SCM_RIGHTS`).
//!
//! Law: it is taken in whole or not at all.

use std::io::{Error, ErrorKind, Read, Result};

use rustix::fd::{AsFd, AsRawFd, OwnedFd, RawFd};

use crate::contract::descriptors::receive_descriptors;
use crate::contract::message::receive;
use crate::contract::protocol::{FREE, LaunchOrder};

/// The order, with its descriptors in their places.
pub(super) fn receive_order(from: impl AsFd + Read) -> Result<LaunchOrder> {
    let given = receive_descriptors(&from);
    let order: LaunchOrder = receive(from)?;
    if given.len() != order.numbers.len() {
        return Err(Error::from(ErrorKind::InvalidData));
    }
    put_in_place(given, &order.numbers)?;
    Ok(order)
}

/// Under the numbers that everybody here knows them by. First all of them are moved out of the way: one
/// may have come as another's number.
#[allow(unsafe_code)]
fn put_in_place(given: Vec<OwnedFd>, numbers: &[RawFd]) -> Result<()> {
    let away = |fd: &OwnedFd| rustix::io::fcntl_dupfd_cloexec(fd, FREE);
    let moved = given.iter().map(away).collect::<rustix::io::Result<Vec<_>>>()?;
    drop(given);
    for (fd, number) in moved.iter().zip(numbers) {
        // SAFETY: takes no pointers; the numbers are reserved for this in every launcher.
        if unsafe { libc::dup2(fd.as_raw_fd(), *number) } < 0 {
            return Err(Error::last_os_error());
        }
    }
    Ok(())
}
