//! The places of a git repository, read from its own files (`gitdir`, `commondir`).
//!
//! Law: read as text, existing or not; git is never asked, because the repository may be hostile.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use jm_system::folder::readable_entries;
use jm_system::state::read_bytes;

/// A path in a file of git is not longer.
const MOST_PATH: u64 = 4096 + 16;
/// Linked work trees beyond this number are not looked at.
const MOST_WORK_TREES: usize = 256;

/// A work tree that `git worktree` has added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkedWorkTree {
    /// The directory of its own, below `worktrees` of the repository.
    pub private: PathBuf,
    /// The work tree itself.
    pub place: PathBuf,
}

/// The git directory with the configuration that a `.git` leads to: a directory, a link to one, or a file that names one.
pub fn repository_of(dot_git: &Path) -> Option<PathBuf> {
    let own = if dot_git.is_dir() {
        dot_git.to_owned()
    } else {
        dot_git.parent()?.join(path_in(dot_git, b"gitdir: ")?)
    };
    let common = path_in(&own.join("commondir"), b"").map(|path| own.join(path));
    common.unwrap_or(own).canonicalize().ok()
}

/// The work trees that a repository knows besides its own.
pub fn linked_work_trees(git: &Path) -> impl Iterator<Item = LinkedWorkTree> {
    let entries = readable_entries(&git.join("worktrees")).take(MOST_WORK_TREES);
    entries.filter_map(|entry| {
        let private = entry.path();
        let place = private.join(path_in(&private.join("gitdir"), b"")?).parent()?.to_owned();
        Some(LinkedWorkTree { private, place })
    })
}

/// The path that stands in a file of git behind some letters.
fn path_in(file: &Path, before: &[u8]) -> Option<PathBuf> {
    let bytes = read_bytes(file, MOST_PATH).ok()?;
    let path = bytes.strip_prefix(before)?.trim_ascii_end();
    (!path.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_is_found_from_each_of_its_work_trees() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().canonicalize().unwrap();
        let write = |name: &str, text: &str| {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let private = root.join("main/.git/worktrees/w");
        write("main/.git/worktrees/w/commondir", "../..\n");
        write("main/.git/worktrees/w/gitdir", &format!("{}\n", root.join("w/.git").display()));
        write("main/.git/worktrees/broken/gitdir", "");
        write("w/.git", &format!("gitdir: {}\n", private.display()));
        write("sub/.git", "gitdir: ../main/.git/worktrees/w\n");
        write("none/.git", "gitdir: ../missing\n");
        write("odd/.git", "something else\n");
        std::fs::create_dir(root.join("linked")).unwrap();
        std::os::unix::fs::symlink("../main/.git", root.join("linked/.git")).unwrap();
        for name in ["main", "w", "sub", "linked"] {
            let found = repository_of(&root.join(name).join(".git"));
            assert_eq!(found, Some(root.join("main/.git")), "{name}");
        }
        for name in ["none", "odd", "missing"] {
            assert_eq!(repository_of(&root.join(name).join(".git")), None, "{name}");
        }
        let found: Vec<_> = linked_work_trees(&root.join("main/.git")).collect();
        assert_eq!(found, [LinkedWorkTree { private, place: root.join("w") }]);
    }
}
