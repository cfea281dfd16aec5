//! Git's control surface: the names in a git directory that make git read configuration or run a
//! program.
//!
//! Law: one list, used by file tools, by confinement and by the report after a command. A test
//! traces real git commands, and a name that they look for stands either here or among [`DATA`].

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use jm_system::folder::readable_entries;

/// Modules and work trees of one repository beyond this number are not entered.
const MOST_DIRECTORIES: usize = 10_000;

/// The form that git expects of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlForm {
    /// A single file.
    File,
    /// A directory with all below it.
    Directory,
}

/// The treatment of an entry while a command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Treatment {
    /// Read-only; where it is missing an empty one takes its place, which git reads as nothing.
    Placeholder,
    /// Read-only; where it is missing, what a command makes of that name is renamed at once. An
    /// empty one would change what git does outside.
    PutAside,
    /// Git itself writes it in ordinary work. A change is reported when the command has ended.
    Report,
}

/// One entry of the surface.
#[derive(Debug, Clone, Copy)]
pub struct ControlEntry {
    /// Relative to the git directory.
    pub name: &'static str,
    /// File or directory.
    pub form: ControlForm,
    /// The protection that it gets.
    pub treatment: Treatment,
}

const fn entry(name: &'static str, form: ControlForm, treatment: Treatment) -> ControlEntry {
    ControlEntry { name, form, treatment }
}

/// Of every git directory: a repository's own, a submodule's, a linked work tree's, a bare one.
pub const SURFACE: &[ControlEntry] = &[
    entry("config", ControlForm::File, Treatment::Placeholder),
    entry("hooks", ControlForm::Directory, Treatment::Placeholder),
    entry("config.worktree", ControlForm::File, Treatment::PutAside),
    entry("commondir", ControlForm::File, Treatment::PutAside),
    entry("gitdir", ControlForm::File, Treatment::PutAside),
    entry("info/attributes", ControlForm::File, Treatment::PutAside),
    entry("info/grafts", ControlForm::File, Treatment::PutAside),
    entry("objects/info/alternates", ControlForm::File, Treatment::PutAside),
    entry("objects/info/http-alternates", ControlForm::File, Treatment::PutAside),
    entry("remotes", ControlForm::Directory, Treatment::PutAside),
    entry("branches", ControlForm::Directory, Treatment::PutAside),
    entry("rebase-merge", ControlForm::Directory, Treatment::Report),
    entry("rebase-apply", ControlForm::Directory, Treatment::Report),
    entry("sequencer", ControlForm::Directory, Treatment::Report),
];

/// Names of a git directory that hold objects, references and messages. Git runs nothing because
/// of them.
pub const DATA: &[&str] = &[
    "HEAD",
    "index",
    "objects",
    "refs",
    "packed-refs",
    "logs",
    "info",
    "description",
    "modules",
    "worktrees",
    "shallow",
    "reftable",
    "gc.log",
    "gc.pid",
    "COMMIT_EDITMSG",
    "ORIG_HEAD",
    "FETCH_HEAD",
    "MERGE_HEAD",
    "MERGE_MSG",
    "MERGE_MODE",
    "MERGE_RR",
    "MERGE_AUTOSTASH",
    "AUTO_MERGE",
    "SQUASH_MSG",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "REBASE_HEAD",
    "BISECT_LOG",
    "BISECT_START",
    "BISECT_EXPECTED_REV",
    "rr-cache",
    "NOTES_MERGE_REF",
    "sharedindex",
    "fsmonitor--daemon.ipc",
    "lost-found",
    "qualified",
    "locked",
    "stash",
];

/// Behind the name of an entry that a command made and that was renamed; a number follows.
pub const ASIDE: &str = ".put-aside-";

/// Tells whether git takes a directory with these names for a git directory.
pub fn is_git_directory<'a>(names: impl IntoIterator<Item = &'a [u8]>) -> bool {
    let names: BTreeSet<&[u8]> = names.into_iter().collect();
    let has = |name: &[u8]| names.contains(name);
    has(b"HEAD") && (has(b"commondir") || has(b"objects") && has(b"refs"))
}

/// The same of a directory on the disk.
pub fn is_git_directory_at(path: &Path) -> bool {
    let has = |name: &str| path.join(name).symlink_metadata().is_ok();
    has("HEAD") && (has("commondir") || has("objects") && has("refs"))
}

/// The entry of the surface that a path below a git directory is, or lies in.
pub fn entry_of(below: &Path) -> Option<&'static ControlEntry> {
    SURFACE.iter().find(|entry| below.starts_with(entry.name))
}

/// A git directory, and those of its submodules and linked work trees, at any depth.
pub fn family(git: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![(git.to_owned(), GitDirectoryKind::Repository)];
    let mut entered = 0;
    while let Some((path, kind)) = waiting.pop() {
        entered += 1;
        if entered > MOST_DIRECTORIES {
            break;
        }
        if kind == GitDirectoryKind::Folder && !is_git_directory_at(&path) {
            // The name of a submodule may have slashes: its git directory lies deeper.
            waiting.extend(folders(&path).map(|folder| (folder, GitDirectoryKind::Folder)));
            continue;
        }
        waiting.extend(
            folders(&path.join("modules")).map(|folder| (folder, GitDirectoryKind::Folder)),
        );
        waiting.extend(
            folders(&path.join("worktrees")).map(|folder| (folder, GitDirectoryKind::Repository)),
        );
        found.push(path);
    }
    found
}

#[derive(Clone, Copy, PartialEq)]
enum GitDirectoryKind {
    Repository,
    /// Between `modules` and the git directory of a submodule.
    Folder,
}

/// Directories in a directory; links are not entered.
fn folders(path: &Path) -> impl Iterator<Item = PathBuf> {
    let folders =
        readable_entries(path).filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.map(|entry| entry.path())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_git_directory_of_a_repository_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let git = folder.path().join(".git");
        let make = |name: &str| {
            for part in ["objects", "refs"] {
                std::fs::create_dir_all(git.join(name).join(part)).unwrap();
            }
            std::fs::write(git.join(name).join("HEAD"), "").unwrap();
        };
        for name in ["", "modules/libs/foo", "modules/libs/foo/modules/bar", "modules/plain"] {
            make(name);
        }
        std::fs::create_dir_all(git.join("worktrees/w")).unwrap();
        let mut found = family(&git);
        found.sort();
        let expected = [
            "",
            "modules/libs/foo",
            "modules/libs/foo/modules/bar",
            "modules/plain",
            "worktrees/w",
        ];
        assert_eq!(
            found,
            expected.map(|name| match name {
                "" => git.clone(),
                name => git.join(name),
            })
        );
    }

    #[test]
    fn a_directory_is_one_by_the_names_that_git_looks_for() {
        let is = |names: &[&str]| is_git_directory(names.iter().map(|name| name.as_bytes()));
        assert!(is(&["HEAD", "objects", "refs", "x"]));
        assert!(is(&["HEAD", "commondir"]));
        assert!(!is(&["HEAD", "objects"]));
        assert!(!is(&["objects", "refs"]));
    }
}
