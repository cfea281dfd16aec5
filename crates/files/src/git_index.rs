//! Git's index file: what git knows of a file. No git is run, so nothing that a repository's
//! configuration names can run either, and nothing is written.

use std::path::Path;

use jm_types::Digest;
use memchr::memchr;
use sha1::{Digest as _, Sha1};

use crate::file::OpenFile;
use crate::resolve::Found;
use crate::sandbox::{SafePath, Sandbox};

/// A larger index is not read.
const MOST_INDEX: u64 = 256 * 1024 * 1024;
const MOST_CONFIG: u64 = 1024 * 1024;

/// The state of a tracked file against what git has of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tracked {
    /// As it was last added or committed.
    Clean,
    /// Somebody's work that git has no copy of.
    Changed,
    /// In the middle of a merge.
    Conflicted,
}

/// Nothing where the file lies in no repository beneath the root, or git does not track it.
pub fn tracked_state(sandbox: &Sandbox, path: &SafePath, content: &[u8]) -> Option<Tracked> {
    let relative = path.relative();
    for folder in relative.ancestors().skip(1) {
        let Some(bytes) = read(sandbox, &folder.join(".git/index"), MOST_INDEX) else { continue };
        let config = read(sandbox, &folder.join(".git/config"), MOST_CONFIG).unwrap_or_default();
        let hashing = ObjectFormat::of(&String::from_utf8_lossy(&config));
        let name = relative.strip_prefix(folder).ok()?.as_os_str().as_encoded_bytes();
        return match find(&bytes, name, hashing)? {
            IndexEntry::Conflict => Some(Tracked::Conflicted),
            IndexEntry::Object(id) if hashing.is_blob(content, id) => Some(Tracked::Clean),
            IndexEntry::Object(_) => Some(Tracked::Changed),
        };
    }
    None
}

fn read(sandbox: &Sandbox, path: &Path, most: u64) -> Option<Vec<u8>> {
    let path = sandbox.resolve(path.to_str()?).ok().filter(|path| path.found() == Found::File)?;
    let (bytes, more) = OpenFile::open(&path).ok()?.read_up_to(most).ok()?;
    (!more).then_some(bytes)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ObjectFormat {
    Sha1,
    Sha256,
}

impl ObjectFormat {
    fn of(config: &str) -> Self {
        let is_long = |line: &str| {
            let line = line.trim().to_ascii_lowercase();
            line.starts_with("objectformat") && line.ends_with("sha256")
        };
        if config.lines().any(is_long) { ObjectFormat::Sha256 } else { ObjectFormat::Sha1 }
    }

    fn length(self) -> usize {
        match self {
            ObjectFormat::Sha1 => 20,
            ObjectFormat::Sha256 => 32,
        }
    }

    /// Line ends may differ between the file and the object.
    fn is_blob(self, content: &[u8], id: &[u8]) -> bool {
        let is = |content: &[u8]| {
            let header = format!("blob {}\0", content.len());
            match self {
                ObjectFormat::Sha1 => {
                    Sha1::digest([header.as_bytes(), content].concat())[..] == *id
                }
                ObjectFormat::Sha256 => {
                    Digest::of(&[header.as_bytes(), content].concat()).as_bytes()[..] == *id
                }
            }
        };
        is(content) || (memchr(b'\r', content).is_some() && is(&without_carriage_returns(content)))
    }
}

fn without_carriage_returns(content: &[u8]) -> Vec<u8> {
    let mut plain = content.to_vec();
    let mut at = 0;
    plain.retain(|byte| {
        at += 1;
        *byte != b'\r' || content.get(at) != Some(&b'\n')
    });
    plain
}

enum IndexEntry<'a> {
    Object(&'a [u8]),
    Conflict,
}

/// The entry of a name; `None` also where the index is none that we can read.
fn find<'a>(index: &'a [u8], wanted: &[u8], hashing: ObjectFormat) -> Option<IndexEntry<'a>> {
    /// Times, device, numbers of owner and inode, size.
    const STAT: usize = 40;
    let version = number(index.get(4..8)?)?;
    let count = number(index.get(8..12)?)?;
    if !index.starts_with(b"DIRC") || !(2..=4).contains(&version) {
        return None;
    }
    let mut at = 12;
    let mut name: Vec<u8> = Vec::new();
    for _ in 0..count {
        let start = at;
        let id = index.get(at + STAT..at + STAT + hashing.length())?;
        at += STAT + hashing.length();
        let flags = index.get(at..at + 2)?;
        let (is_extended, stage) = (flags[0] & 0x40 != 0, flags[0] >> 4 & 3);
        at += if is_extended { 4 } else { 2 };
        if version == 4 {
            let (dropped, length) = variable(index.get(at..)?)?;
            name.truncate(name.len().checked_sub(dropped)?);
            at += length;
        } else {
            name.clear();
        }
        let length = memchr(0, index.get(at..)?)?;
        name.extend_from_slice(&index[at..at + length]);
        at += length + 1;
        if version < 4 {
            // Entries are padded to a multiple of eight, with at least the one NUL.
            at = start + (at - start).next_multiple_of(8);
        }
        if name == wanted {
            return Some(if stage == 0 { IndexEntry::Object(id) } else { IndexEntry::Conflict });
        }
    }
    None
}

fn number(bytes: &[u8]) -> Option<u32> {
    bytes.try_into().ok().map(u32::from_be_bytes)
}

/// Git's offset encoding, and how many bytes it took.
fn variable(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value = 0_usize;
    for (at, byte) in bytes.iter().enumerate().take(8) {
        value = value.checked_shl(7)? | usize::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((value, at + 1));
        }
        value += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox_settings::SandboxSettings;
    use std::process::Command;

    fn git(folder: &Path, words: &[&str]) {
        let done = Command::new("git")
            .args(["-c", "user.name=n", "-c", "user.email=e"])
            .args(words)
            .current_dir(folder)
            .env("HOME", folder)
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }

    fn state(folder: &Path, name: &str) -> Option<Tracked> {
        let sandbox = Sandbox::new(&SandboxSettings::rooted_at(folder)).unwrap();
        let content = std::fs::read(folder.join(name)).unwrap();
        tracked_state(&sandbox, &sandbox.resolve(name).unwrap(), &content)
    }

    /// FJ-GIT, against indexes that git itself wrote, in every version and with both hashes.
    #[test]
    fn the_index_tells_clean_from_changed() {
        for (version, format) in [("2", "sha1"), ("3", "sha1"), ("4", "sha1"), ("2", "sha256")] {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path();
            git(root, &["init", "-q", &format!("--object-format={format}")]);
            std::fs::create_dir_all(root.join("a/deep")).unwrap();
            for name in ["a/deep/one.el", "a/deep/only.el", "b.el", "c.el", "d.el"] {
                std::fs::write(root.join(name), format!("({name})\n")).unwrap();
            }
            git(root, &["add", "a", "b.el", "c.el"]);
            if version == "3" {
                git(root, &["add", "-N", "d.el"]);
            }
            git(root, &["update-index", "--index-version", version]);
            std::fs::write(root.join("b.el"), "changed\n").unwrap();
            std::fs::write(root.join("c.el"), "(c.el)\r\n").unwrap();
            let found =
                ["a/deep/one.el", "a/deep/only.el", "b.el", "c.el"].map(|name| state(root, name));
            let clean = Some(Tracked::Clean);
            assert_eq!(found, [clean, clean, Some(Tracked::Changed), clean], "{version} {format}");
            std::fs::write(root.join("new.el"), "x").unwrap();
            assert_eq!(state(root, "new.el"), None);
        }
    }

    #[test]
    fn a_merge_is_noticed_and_nonsense_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        git(root, &["init", "-q", "-b", "main"]);
        // Of different lengths, because git knows a file by its times and its size.
        for (branch, text) in [("main", "1"), ("other", "22"), ("main", "333")] {
            if branch == "other" {
                git(root, &["checkout", "-q", "-b", "other"]);
            } else if text == "333" {
                git(root, &["checkout", "-q", "main"]);
            }
            std::fs::write(root.join("f"), text).unwrap();
            git(root, &["add", "f"]);
            git(root, &["commit", "-q", "-m", text]);
        }
        let merge = Command::new("git").args(["merge", "-q", "other"]).current_dir(root).output();
        assert!(!merge.unwrap().status.success());
        assert_eq!(state(root, "f"), Some(Tracked::Conflicted));
        let index = std::fs::read(root.join(".git/index")).unwrap();
        for length in 0..index.len() {
            find(&index[..length], b"no such name", ObjectFormat::Sha1);
            find(&index[..length], b"no such name", ObjectFormat::Sha256);
        }
        std::fs::write(root.join(".git/index"), b"DIRC\0\0\0\x02\xff\xff\xff\xff").unwrap();
        assert_eq!(state(root, "f"), None);
    }
}
