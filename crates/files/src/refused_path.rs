//! The place of a refused path, by its spelling alone: what the boundary compared, for whoever asks why
//! (GO-DEBUG).
//!
//! Law: nothing here looks at a disk, so it tells nothing about what exists outside.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use crate::path::cleaned;

/// A path against a root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// The workspace root that it was compared with.
    pub root: PathBuf,
    /// Absolute, without `.` and `..`.
    pub path: PathBuf,
    /// The same from the root, which begins with `..` where it lies outside.
    pub relative: PathBuf,
}

impl Placed {
    /// `begin` is where a relative path begins; it lies beneath the root.
    pub(crate) fn new(root: &Path, begin: &Path, attempted: &Path) -> Self {
        let path = cleaned(&begin.join(attempted));
        let shared = root.components().zip(path.components()).take_while(|(a, b)| a == b).count();
        let up = root.components().skip(shared).map(|_| Component::ParentDir);
        let relative: PathBuf = up.chain(path.components().skip(shared)).collect();
        let is_root = relative.as_os_str().is_empty();
        let relative = if is_root { PathBuf::from(".") } else { relative };
        Self { root: root.to_owned(), path, relative }
    }
}

impl fmt::Display for Placed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { root, path, relative } = self;
        let (root, path, relative) = (root.display(), path.display(), relative.display());
        write!(f, "root {root}, path {path}, relative {relative}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_against_a_root() {
        let cases = [
            ("../x/secret", "/b/x/secret", "../x/secret"),
            ("a/./../../x", "/b/x", "../x"),
            ("/etc/hosts", "/etc/hosts", "../../etc/hosts"),
            ("../../../..", "/", "../.."),
            ("out/secret", "/b/w/out/secret", "out/secret"),
            ("a/..", "/b/w", "."),
            ("../w2", "/b/w2", "../w2"),
        ];
        for (attempted, path, relative) in cases {
            let placed = Placed::new(Path::new("/b/w"), Path::new("/b/w"), Path::new(attempted));
            let expected = format!("root /b/w, path {path}, relative {relative}");
            assert_eq!(placed.to_string(), expected, "{attempted}");
        }
    }
}
