//! The overlay's marks in an upper directory (`user.overlay.*`), read and stripped.

use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{self, Mode};
use rustix::io::{self, Errno};

use super::node::MARK;
use crate::file_attributes::attribute_names;

/// Says if a directory of the upper hides everything that the lower has under its name.
pub(crate) fn is_opaque(directory: impl AsFd) -> io::Result<bool> {
    let mut value = [0_u8; 8];
    match fs::fgetxattr(directory, c"user.overlay.opaque", &mut value[..]) {
        Ok(length) => Ok(&value[..length] == b"y"),
        Err(Errno::NODATA | Errno::NOTSUP) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Says if a file or directory was copied up from the lower, rather than made in the layer.
pub(crate) fn is_copied_up(node: impl AsFd) -> io::Result<bool> {
    match fs::fgetxattr(node, c"user.overlay.origin", &mut [0_u8; 256][..]) {
        Ok(_) | Err(Errno::RANGE) => Ok(true),
        Err(Errno::NODATA | Errno::NOTSUP) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes every mark of the overlay. One that the command itself set is escaped by the kernel and goes too:
/// in the workspace it would change how the next layer is read.
pub(crate) fn strip(node: BorrowedFd<'_>) -> io::Result<()> {
    match remove_marks(node) {
        // Its owner may not write it either: attributes of users follow the mode.
        Err(Errno::ACCESS) => {
            let mode = Mode::from_raw_mode(fs::fstat(node)?.st_mode & 0o7777);
            fs::fchmod(node, mode | Mode::WUSR)?;
            let removed = remove_marks(node);
            fs::fchmod(node, mode)?;
            removed
        }
        removed => removed,
    }
}

fn remove_marks(node: BorrowedFd<'_>) -> io::Result<()> {
    for name in attribute_names(node)?.iter().filter(|name| name.starts_with(MARK)) {
        fs::fremovexattr(node, name.as_slice())?;
    }
    Ok(())
}
