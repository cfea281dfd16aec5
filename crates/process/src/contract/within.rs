//! The comparison of paths that are spelt plainly: absolute, without doubled slashes, `.` and `..`.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// `Path::starts_with` for paths that are spelt plainly, without taking them apart.
pub(crate) fn is_within(path: &Path, folder: &Path) -> bool {
    let rest = path.as_os_str().as_bytes().strip_prefix(folder.as_os_str().as_bytes());
    rest.is_some_and(|rest| rest.is_empty() || rest[0] == b'/' || folder.as_os_str() == "/")
}
