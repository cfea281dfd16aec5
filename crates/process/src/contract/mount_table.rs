//! Mount points, as `/proc/self/mountinfo` names them.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Result};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// The kernel writes the table anew for each read, so few large ones are quicker than what a file of unknown size gets.
const USUAL_BYTES: usize = 16 * 1024;

/// Reads the table of this process.
pub(crate) fn read_mount_table() -> Result<Vec<u8>> {
    let mut table = Vec::with_capacity(USUAL_BYTES);
    File::open("/proc/self/mountinfo")?.read_to_end(&mut table)?;
    Ok(table)
}

/// The mount point of every line.
pub(crate) fn mount_points(mountinfo: &[u8]) -> impl Iterator<Item = PathBuf> {
    let lines = mountinfo.split(|byte| *byte == b'\n');
    lines.filter_map(|line| line.split(|byte| *byte == b' ').nth(4)).map(unescaped)
}

/// A path of `mountinfo`, in which some bytes are written as octal numbers.
fn unescaped(written: &[u8]) -> PathBuf {
    let mut bytes = Vec::new();
    let mut rest = written;
    while let [first, tail @ ..] = rest {
        let number = tail.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        let number = number.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match number {
            Some(byte) if *first == b'\\' => {
                bytes.push(byte);
                rest = &tail[3..];
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;

    use super::*;

    #[test]
    fn odd_bytes_stay_what_they_are() {
        let cases: [(&[u8], &[u8]); 3] =
            [(b"/a\\134b", b"/a\\b"), (b"/\xff", b"/\xff"), (b"/end\\04", b"/end\\04")];
        for (written, expected) in cases {
            assert_eq!(unescaped(written), Path::new(OsStr::from_bytes(expected)));
        }
    }
}
