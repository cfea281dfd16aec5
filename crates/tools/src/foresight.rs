//! The foreseeable effects of the calls of a batch, computed before any of them runs, so that a person is
//! shown the change of each on what the earlier ones leave.
//!
//! Law: nothing is written, and nothing here decides: an approval counts only if the files are then what
//! was foreseen.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Contents of files as earlier calls of the batch would leave them, by canonical path.
#[derive(Debug, Clone, Default)]
pub struct Expected {
    contents: BTreeMap<PathBuf, Arc<Vec<u8>>>,
}

/// The effect of one call, as far as it can be computed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Foreseen {
    /// These files have these contents afterwards, and every other one what it had.
    Files(Vec<(PathBuf, Arc<Vec<u8>>)>),
    /// It may change anything.
    Unknown,
}

impl Foreseen {
    /// A call that leaves everything as it is.
    pub const NOTHING: Self = Self::Files(Vec::new());
}

impl Expected {
    /// The expected content of a file; `None` where the disk's own counts.
    pub fn get(&self, path: &Path) -> Option<&Arc<Vec<u8>>> {
        self.contents.get(path)
    }

    /// Adds the effect of one more call.
    pub fn add(&mut self, foreseen: Foreseen) {
        match foreseen {
            Foreseen::Files(files) => self.contents.extend(files),
            Foreseen::Unknown => self.contents.clear(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_content_counts_and_the_unknown_forgets_all() {
        let file = |name: &str, text: &str| {
            Foreseen::Files(vec![(PathBuf::from(name), Arc::new(text.as_bytes().to_vec()))])
        };
        let mut expected = Expected::default();
        for foreseen in [file("/a", "1"), file("/b", "2"), file("/a", "3"), Foreseen::NOTHING] {
            expected.add(foreseen);
        }
        assert_eq!(expected.get(Path::new("/a")).unwrap().as_slice(), b"3");
        expected.add(Foreseen::Unknown);
        assert!(expected.get(Path::new("/b")).is_none());
    }
}
