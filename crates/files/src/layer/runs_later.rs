//! Names of a layer that make something run later: they are named first when somebody decides about it.
//!
//! Law: the lists are those of the file tools and of confinement; nothing is listed here.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::git_control::{self as control, ControlEntry};
use crate::names::{fold, protected_part};

const GIT: &str = "git reads its configuration or runs programs from it";
const ELSEWHERE: &str = "git finds its repository by it";

/// Judges the paths that a layer changes.
#[derive(Debug, Clone)]
pub struct NameJudge {
    root: PathBuf,
    known: Vec<PathBuf>,
    /// The layer's own directory, in which a repository may be that the workspace does not have yet.
    upper: Option<PathBuf>,
}

impl NameJudge {
    /// `known` are the protected names that a look at the workspace found: also those that only a
    /// configuration tells, such as the directory of `core.hooksPath`.
    pub fn new(root: impl Into<PathBuf>, known: Vec<PathBuf>) -> Self {
        Self { root: root.into(), known, upper: None }
    }

    /// Looks for repositories in the layer too, whose files lie in `upper`.
    #[must_use]
    pub fn with_upper(self, upper: impl Into<PathBuf>) -> Self {
        Self { upper: Some(upper.into()), ..self }
    }

    /// The part of a relative path that something else runs or obeys later, and why.
    pub fn runs_later(
        &self,
        relative: &Path,
        is_directory: bool,
    ) -> Option<(PathBuf, &'static str)> {
        let absolute = self.root.join(relative);
        let by_name = protected_part(relative);
        if let Some((part, why)) = by_name {
            if !is_git(&part) {
                return Some((part, why));
            }
            let below = relative.strip_prefix(&part).unwrap_or(relative);
            if below.as_os_str().is_empty() {
                return (!is_directory).then_some((part, ELSEWHERE));
            }
            if let Some(inside) = control_part(below) {
                return Some((part.join(inside), GIT));
            }
        }
        let known = self.known.iter().find(|known| absolute.starts_with(known));
        let known = known.and_then(|known| known.strip_prefix(&self.root).ok());
        known.map(|part| (part.to_owned(), GIT)).or_else(|| self.in_bare_repository(relative))
    }

    fn in_bare_repository(&self, relative: &Path) -> Option<(PathBuf, &'static str)> {
        relative.ancestors().skip(1).find_map(|folder| {
            let entry = control::entry_of(relative.strip_prefix(folder).ok()?)?;
            let is_git = control::is_git_directory(self.git_names(folder));
            is_git.then(|| (folder.join(entry.name), GIT))
        })
    }

    /// The names by which git knows its directories that a folder has, in the workspace or in the layer.
    fn git_names(&self, folder: &Path) -> impl Iterator<Item = &'static [u8]> {
        let sides = [Some(&self.root), self.upper.as_ref()].into_iter().flatten();
        let sides: Vec<PathBuf> = sides.map(|side| side.join(folder)).collect();
        let has =
            move |name: &&str| sides.iter().any(|side| side.join(name).symlink_metadata().is_ok());
        ["HEAD", "commondir", "objects", "refs"].into_iter().filter(has).map(str::as_bytes)
    }
}

fn is_git(part: &Path) -> bool {
    let name = part.file_name().unwrap_or_default().to_string_lossy();
    fold(&name) == ".git"
}

/// The entry of git's control surface that a path below `.git` is or lies in, also that of a submodule
/// or of a linked work tree.
fn control_part(below: &Path) -> Option<PathBuf> {
    let named = |entry: &ControlEntry| PathBuf::from(entry.name);
    if let Some(entry) = control::entry_of(below) {
        return Some(named(entry));
    }
    let first = below.iter().next()?;
    if first != OsStr::new("modules") && first != OsStr::new("worktrees") {
        return None;
    }
    below.ancestors().skip(1).find_map(|folder| {
        let entry = control::entry_of(below.strip_prefix(folder).ok()?)?;
        Some(folder.join(named(entry)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gits_own_work_is_ordinary_and_its_control_surface_is_not() {
        let judge = NameJudge::new("/nowhere", vec!["/nowhere/ci/hooks".into()]);
        let cases = [
            ("src/main.rs", None),
            (".git/index", None),
            (".git/refs/heads/config", None),
            (".git/objects/aa/bb", None),
            (".git/config", Some(".git/config")),
            (".git/hooks/pre-commit", Some(".git/hooks")),
            ("sub/.git/hooks/pre-commit", Some("sub/.git/hooks")),
            (".git/modules/a/b/config", Some(".git/modules/a/b/config")),
            (".git", Some(".git")),
            (".vscode/tasks.json", Some(".vscode")),
            ("deep/.envrc", Some("deep/.envrc")),
            ("ci/hooks/run", Some("ci/hooks")),
            ("AGENTS.md", Some("AGENTS.md")),
        ];
        for (path, expected) in cases {
            let found = judge.runs_later(Path::new(path), false).map(|(part, _)| part);
            assert_eq!(found, expected.map(PathBuf::from), "{path}");
        }
        assert_eq!(judge.runs_later(Path::new(".git"), true), None);
    }
}
