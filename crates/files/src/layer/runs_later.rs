//! Names of a layer that make something run later: they are named first when somebody decides about it.
//!
//! Law: the lists are those of the file tools and of confinement; nothing is listed here.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::node::NodeKind;
use crate::git_control::{self as control, ControlEntry};
use crate::names::{fold, protected_below, protected_part};

const GIT: &str = "git reads its configuration or runs programs from it";
const ELSEWHERE: &str = "git finds its repository by it";
const OPENED: &str = "its mode decides who can change what git runs";

/// The names by which git knows its directories.
const MARKS: &[&str] = &["HEAD", "commondir", "objects", "refs"];

/// Judges the paths that a layer changes.
#[derive(Debug, Clone)]
pub struct NameJudge {
    root: PathBuf,
    known: BTreeSet<PathBuf>,
    /// The layer's own directory, in which a repository may be that the workspace does not have yet.
    upper: Option<PathBuf>,
}

impl NameJudge {
    /// `known` are the protected names that a look at the workspace found, there or not: also those that only a
    /// configuration tells, such as the directory of `core.hooksPath`.
    pub fn new(root: impl Into<PathBuf>, known: Vec<PathBuf>) -> Self {
        Self { root: root.into(), known: known.into_iter().collect(), upper: None }
    }

    /// Looks for repositories in the layer too, whose files lie in `upper`.
    #[must_use]
    pub fn with_upper(self, upper: impl Into<PathBuf>) -> Self {
        Self { upper: Some(upper.into()), ..self }
    }

    /// The part of a relative path that something else runs or obeys later, and why; `kind` is the node that stands
    /// there now, or stood there.
    pub fn runs_later(&self, relative: &Path, kind: NodeKind) -> Option<(PathBuf, &'static str)> {
        let absolute = self.root.join(relative);
        let by_name = protected_part(relative);
        if let Some((part, why)) = by_name {
            if !is_git(&part) {
                return Some((part, why));
            }
            let below = relative.strip_prefix(&part).unwrap_or(relative);
            if below.as_os_str().is_empty() {
                return (kind != NodeKind::Directory).then_some((part, ELSEWHERE));
            }
            if let Some(inside) = control_part(below, kind) {
                return Some((part.join(inside), GIT));
            }
        }
        // A link to a directory gives every name in it a second place.
        if kind == NodeKind::Link {
            // A path comes right before those below it.
            let next = self.known.range(absolute.clone()..).next();
            let known = || next.filter(|known| known.starts_with(&absolute)).map(|_| GIT);
            if let Some(why) = protected_below(relative).or_else(known) {
                return Some((relative.to_owned(), why));
            }
        }
        let known = absolute.ancestors().filter(|part| self.known.contains(*part)).last();
        let known = known.and_then(|known| known.strip_prefix(&self.root).ok());
        let known = known.map(|part| (part.to_owned(), GIT));
        let known = known.or_else(|| self.in_bare_repository(relative, kind));
        known.or_else(|| self.in_completed_repository(relative))
    }

    /// The same of a directory that stays, with another mode, owner or extended attribute.
    pub(super) fn opens_later(&self, relative: &Path) -> Option<(PathBuf, &'static str)> {
        let git = protected_part(relative).filter(|(part, _)| part == relative && is_git(part));
        let git = git.map(|(part, _)| (part, OPENED));
        git.or_else(|| self.runs_later(relative, NodeKind::Directory))
    }

    /// The entry of git's control surface that was of no account in a directory until this name makes it git's own.
    fn in_completed_repository(&self, relative: &Path) -> Option<(PathBuf, &'static str)> {
        let (folder, name) = (relative.parent()?, relative.file_name()?.to_str()?);
        let is_completed = MARKS.contains(&name)
            && control::is_git_directory(self.git_names(folder))
            && !control::is_git_directory_at(&self.root.join(folder));
        let has = |entry: &&ControlEntry| {
            self.sides(folder).any(|side| side.join(entry.name).symlink_metadata().is_ok())
        };
        let entry = is_completed.then(|| control::SURFACE.iter().find(has))??;
        Some((folder.join(entry.name), GIT))
    }

    fn in_bare_repository(
        &self,
        relative: &Path,
        kind: NodeKind,
    ) -> Option<(PathBuf, &'static str)> {
        relative.ancestors().skip(1).find_map(|folder| {
            let entry = entry_at(relative.strip_prefix(folder).ok()?, kind)?;
            let is_git = control::is_git_directory(self.git_names(folder));
            is_git.then(|| (folder.join(entry.name), GIT))
        })
    }

    /// A folder in the workspace, and in the layer.
    fn sides(&self, folder: &Path) -> impl Iterator<Item = PathBuf> {
        let sides = [Some(&self.root), self.upper.as_ref()].into_iter().flatten();
        sides.map(move |side| side.join(folder))
    }

    /// The names by which git knows its directories that a folder has, in the workspace or in the layer.
    fn git_names(&self, folder: &Path) -> impl Iterator<Item = &'static [u8]> {
        let sides: Vec<PathBuf> = self.sides(folder).collect();
        let has =
            move |name: &&&str| sides.iter().any(|side| side.join(name).symlink_metadata().is_ok());
        MARKS.iter().filter(has).map(|name| name.as_bytes())
    }
}

fn is_git(part: &Path) -> bool {
    let name = part.file_name().unwrap_or_default().to_string_lossy();
    fold(&name) == ".git"
}

/// The entry of git's control surface that a path below `.git` is or lies in, also that of a submodule
/// or of a linked work tree.
fn control_part(below: &Path, kind: NodeKind) -> Option<PathBuf> {
    if let Some(entry) = entry_at(below, kind) {
        return Some(PathBuf::from(entry.name));
    }
    let first = below.iter().next()?;
    if first != OsStr::new("modules") && first != OsStr::new("worktrees") {
        return None;
    }
    // Git makes no links there; one may lead to another git directory.
    if kind == NodeKind::Link {
        return Some(below.to_owned());
    }
    below.ancestors().skip(1).find_map(|folder| {
        let entry = entry_at(below.strip_prefix(folder).ok()?, kind)?;
        Some(folder.join(entry.name))
    })
}

/// The entry of the surface that a path below a git directory is or lies in, or that a link there leads to.
fn entry_at(below: &Path, kind: NodeKind) -> Option<&'static ControlEntry> {
    let leads_to = |entry: &&ControlEntry| {
        kind == NodeKind::Link
            && !below.as_os_str().is_empty()
            && Path::new(entry.name).starts_with(below)
    };
    control::entry_of(below).or_else(|| control::SURFACE.iter().find(leads_to))
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
            ("ci/other", None),
            ("AGENTS.md", Some("AGENTS.md")),
        ];
        for (path, expected) in cases {
            let found = judge.runs_later(Path::new(path), NodeKind::File).map(|(part, _)| part);
            assert_eq!(found, expected.map(PathBuf::from), "{path}");
        }
        assert_eq!(judge.runs_later(Path::new(".git"), NodeKind::Directory), None);
        let link = judge.runs_later(Path::new("ci"), NodeKind::Link);
        assert_eq!(link, Some((PathBuf::from("ci"), GIT)));
    }

    #[test]
    fn the_mode_of_a_protected_directory_counts() {
        let judge = NameJudge::new("/nowhere", vec!["/nowhere/ci/hooks".into()]);
        for path in [".git", "sub/.git", ".git/hooks", ".vscode", ".husky", "ci/hooks"] {
            let found = judge.opens_later(Path::new(path)).map(|(part, _)| part);
            assert_eq!(found, Some(PathBuf::from(path)));
        }
        for path in ["src", ".git/objects", ".git/refs", "ci", ""] {
            assert_eq!(judge.opens_later(Path::new(path)), None, "{path}");
        }
    }

    /// A link in the place of a directory brings everything that it leads to under a name that counts.
    #[test]
    fn a_link_counts_for_the_names_that_it_would_lead_to() {
        let judge = NameJudge::new("/nowhere", Vec::new());
        let cases = [
            ("src", None),
            ("link.rs", None),
            (".git/HEAD", None),
            (".git/refs/heads/main", None),
            (".git/objects", Some(".git/objects/info/alternates")),
            (".git/objects/info", Some(".git/objects/info/alternates")),
            (".git/info", Some(".git/info/attributes")),
            ("sub/.git/info", Some("sub/.git/info/attributes")),
            (".git/modules", Some(".git/modules")),
            (".git/modules/a", Some(".git/modules/a")),
            (".git/worktrees/x", Some(".git/worktrees/x")),
            (".cargo", Some(".cargo")),
            ("deep/.CARGO", Some("deep/.CARGO")),
            (".local", Some(".local")),
            (".local/share", Some(".local/share")),
            (".yarn", Some(".yarn")),
            (".github", Some(".github")),
            ("share", None),
        ];
        for (path, expected) in cases {
            let found = judge.runs_later(Path::new(path), NodeKind::Link).map(|(part, _)| part);
            assert_eq!(found, expected.map(PathBuf::from), "{path}");
            let directory = judge.runs_later(Path::new(path), NodeKind::Directory);
            assert_eq!(directory, None, "{path} as a directory");
        }
    }
}
