//! The repository's files, as the checks read them.

use std::path::{Path, PathBuf};

/// A Rust file: its path from the repository, and its text.
pub(crate) type Source = (String, String);

pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

pub(crate) fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            found.extend(files(&path, ending));
        } else if name.ends_with(ending) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Files of the crates with this ending, by their paths from the repository.
pub(crate) fn texts(ending: &str) -> Vec<Source> {
    let root = repository();
    files(&root.join("crates"), ending)
        .into_iter()
        .map(|path| {
            let name = path.strip_prefix(&root).unwrap().display().to_string();
            (name, std::fs::read_to_string(&path).unwrap())
        })
        .collect()
}

pub(crate) fn sources() -> Vec<Source> {
    texts(".rs")
}

/// One planted file.
pub(crate) fn planted(name: &str, text: &str) -> Vec<Source> {
    vec![(name.to_owned(), text.to_owned())]
}

pub(crate) fn is_test(name: &str) -> bool {
    name.contains("/tests/") || name.ends_with("tests.rs") || name.contains("/benches/")
}

/// The checks themselves, which name what they look for.
pub(crate) fn is_tidy(name: &str) -> bool {
    name.starts_with("crates/jm/tests/tidy/")
}

/// The part that runs in the product: everything before the unit tests at the bottom.
pub(crate) fn product(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text)
}
