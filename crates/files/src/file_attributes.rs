//! Extended attributes of a file, as `flistxattr` names them.

use rustix::fd::BorrowedFd;
use rustix::fs;
use rustix::io::{self, Errno};

/// The names of the extended attributes; none on a file system without them.
pub(crate) fn attribute_names(of: BorrowedFd<'_>) -> io::Result<Vec<Vec<u8>>> {
    let mut names = vec![0; 64 * 1024];
    let length = match fs::flistxattr(of, &mut names[..]) {
        Err(Errno::NOTSUP) => 0,
        answer => answer?,
    };
    let names = names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty());
    Ok(names.map(<[u8]>::to_vec).collect())
}
