//! Directories by their path: the entries of one, and of all below it.
//!
//! Law: a tree is looked through by path with [`Descent`] alone, which enters only what it is told to. What tools see
//! of the workspace is walked on descriptors, by `jm-files`.

use std::collections::VecDeque;
use std::fs::{DirEntry, ReadDir};
use std::io::Result;
use std::path::{Path, PathBuf};

/// The entries of a directory that can be read; none where it is missing or closed to us.
pub fn readable_entries(folder: &Path) -> impl Iterator<Item = DirEntry> + use<> {
    std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok)
}

/// The entries below a directory, the nearest first. Directories among them are read once they were given to
/// [`Descent::enter`]; one that cannot be read is an error among the entries, after which it goes on.
#[derive(Debug)]
pub struct Descent {
    /// Directories that were not read yet, with their levels below the top.
    waiting: VecDeque<(PathBuf, usize)>,
    reading: Option<ReadDir>,
    level: usize,
}

impl Descent {
    /// Begins with the entries of `top`.
    pub fn below(top: &Path) -> Self {
        Self { waiting: VecDeque::from([(top.to_owned(), 0)]), reading: None, level: 0 }
    }

    /// Adds the entries of the directory that `entry`, the last one, is.
    pub fn enter(&mut self, entry: &DirEntry) {
        self.waiting.push_back((entry.path(), self.level + 1));
    }

    /// The number of directories between the top and the last entry.
    pub fn level(&self) -> usize {
        self.level
    }
}

impl Iterator for Descent {
    type Item = Result<DirEntry>;

    fn next(&mut self) -> Option<Result<DirEntry>> {
        loop {
            if let Some(entry) = self.reading.as_mut().and_then(Iterator::next) {
                return Some(entry);
            }
            let (folder, level) = self.waiting.pop_front()?;
            self.level = level;
            match std::fs::read_dir(folder) {
                Ok(entries) => self.reading = Some(entries),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops where it fails")]
mod tests {
    use super::*;

    #[test]
    fn only_entered_directories_are_read_and_links_are_none() {
        let scratch = tempfile::tempdir().unwrap();
        let top = scratch.path();
        std::fs::create_dir_all(top.join("in/deep")).unwrap();
        std::fs::create_dir(top.join("out")).unwrap();
        for file in ["a", "in/b", "in/deep/c", "out/d"] {
            std::fs::write(top.join(file), "").unwrap();
        }
        std::os::unix::fs::symlink("in", top.join("link")).unwrap();
        let mut descent = Descent::below(top);
        let mut found = Vec::new();
        while let Some(entry) = descent.next() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() && entry.file_name() != "out" {
                descent.enter(&entry);
            }
            let path = entry.path().strip_prefix(top).unwrap().to_owned();
            found.push((descent.level(), path.display().to_string()));
        }
        found.sort();
        let expected = [
            (0, "a"),
            (0, "in"),
            (0, "link"),
            (0, "out"),
            (1, "in/b"),
            (1, "in/deep"),
            (2, "in/deep/c"),
        ];
        assert_eq!(found, expected.map(|(level, path)| (level, path.to_owned())));
    }

    #[test]
    fn a_missing_directory_is_one_error_and_no_entry() {
        let scratch = tempfile::tempdir().unwrap();
        let mut descent = Descent::below(&scratch.path().join("none"));
        assert!(descent.next().is_some_and(|entry| entry.is_err()));
        assert!(descent.next().is_none());
    }
}
