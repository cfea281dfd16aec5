//! A directory tree as facts that can be compared: what I1 and I9 are checked with.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Files larger than this are compared by size and time alone.
const MOST_READ: u64 = 4 * 1024 * 1024;

pub(crate) type Tree = BTreeMap<PathBuf, Fact>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fact {
    pub(crate) content: Content,
    pub(crate) mode: u32,
    pub(crate) owner: (u32, u32),
    pub(crate) modified: Option<(i64, i64)>,
    pub(crate) links: u64,
}

#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Content {
    Bytes(Vec<u8>),
    Size(u64),
    Link(PathBuf),
    Directory,
    Special,
}

impl std::fmt::Debug for Content {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Content::Bytes(bytes) => {
                write!(f, "{:.80}", String::from_utf8_lossy(bytes).escape_debug())
            }
            Content::Size(size) => write!(f, "{size} bytes"),
            Content::Link(to) => write!(f, "-> {}", to.display()),
            Content::Directory => f.write_str("directory"),
            Content::Special => f.write_str("special"),
        }
    }
}

/// Everything below `top` and `top` itself, links not followed, `except` left out.
pub(crate) fn tree(top: &Path, except: Option<&Path>) -> Tree {
    let mut facts = Tree::new();
    let mut waiting = vec![top.to_owned()];
    while let Some(path) = waiting.pop() {
        if Some(path.as_path()) == except {
            continue;
        }
        let Ok(metadata) = std::fs::symlink_metadata(&path) else { continue };
        let content = content(&path, &metadata);
        if content == Content::Directory {
            let entries = std::fs::read_dir(&path).into_iter().flatten();
            waiting.extend(entries.map(|entry| entry.unwrap().path()));
        }
        let fact = Fact {
            content,
            mode: metadata.mode(),
            owner: (metadata.uid(), metadata.gid()),
            modified: Some((metadata.mtime(), metadata.mtime_nsec())),
            links: metadata.nlink(),
        };
        facts.insert(path.strip_prefix(top).unwrap().to_owned(), fact);
    }
    facts
}

fn content(path: &Path, metadata: &std::fs::Metadata) -> Content {
    let kind = metadata.file_type();
    if kind.is_symlink() {
        Content::Link(std::fs::read_link(path).unwrap())
    } else if kind.is_dir() {
        Content::Directory
    } else if kind.is_fifo() || kind.is_socket() || kind.is_char_device() || kind.is_block_device()
    {
        Content::Special
    } else if metadata.len() > MOST_READ {
        Content::Size(metadata.len())
    } else {
        std::fs::read(path).map_or(Content::Size(metadata.len()), Content::Bytes)
    }
}

/// Without the times of directories, which a temporary file that came and went leaves behind.
pub(crate) fn settled(mut tree: Tree) -> Tree {
    for fact in tree.values_mut().filter(|fact| fact.content == Content::Directory) {
        fact.modified = None;
    }
    tree
}

/// Without link counts, for cases in which a write must break a hard link.
pub(crate) fn unlinked(mut tree: Tree) -> Tree {
    tree.values_mut().for_each(|fact| fact.links = 0);
    tree
}

/// Names of temporary files that were not removed.
pub(crate) fn leftovers(tree: &Tree) -> Vec<&PathBuf> {
    let is_ours =
        |path: &&PathBuf| path.file_name().is_some_and(|name| name.as_bytes().starts_with(b".jm-"));
    tree.keys().filter(is_ours).collect()
}

/// The regular files whose bytes contain `needle`.
pub(crate) fn holding(tree: &Tree, needle: &str) -> Vec<PathBuf> {
    let holds = |fact: &Fact| match &fact.content {
        Content::Bytes(bytes) => bytes.windows(needle.len()).any(|part| part == needle.as_bytes()),
        Content::Size(_) | Content::Link(_) | Content::Directory | Content::Special => false,
    };
    tree.iter().filter(|(_, fact)| holds(fact)).map(|(path, _)| path.clone()).collect()
}

/// The paths at which two trees differ, for a message that can be read.
pub(crate) fn difference(before: &Tree, after: &Tree) -> String {
    let mut paths: Vec<&PathBuf> = before.keys().chain(after.keys()).collect();
    paths.sort();
    paths.dedup();
    let differs = |path: &&&PathBuf| before.get(**path) != after.get(**path);
    let line = |path: &&PathBuf| {
        format!("{}: {:?} became {:?}\n", path.display(), before.get(*path), after.get(*path))
    };
    paths.iter().filter(differs).map(line).collect()
}
