//! The ignore rules of a project: `.gitignore`, and over it `.ignore` and `.rgignore`.
//!
//! Law: the innermost file that says anything decides, and only files inside the workspace count. A line
//! that is no pattern costs no other line.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use jm_types::ignore_error;

use crate::file::{EntryKind, OpenDirectory};
use crate::sandbox::SafePath;

/// A file of rules larger than this is none.
const MOST_RULES: u64 = 1024 * 1024;

/// The ignore files that count for a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IgnoreFiles {
    None,
    /// `.gitignore`: what is no part of the project.
    Git,
    /// `.ignore` and `.rgignore` too: what the person does not want to search.
    GitAndSearch,
}

impl IgnoreFiles {
    /// Names of rules for git, and of those that go before them.
    fn names(self) -> (&'static [&'static str], &'static [&'static str]) {
        match self {
            Self::None => (&[], &[]),
            Self::Git => (&[".gitignore"], &[]),
            Self::GitAndSearch => (&[".gitignore"], &[".ignore", ".rgignore"]),
        }
    }
}

/// The rules that hold in a directory; those of the directories above are shared.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ignored(Option<Arc<Rules>>);

#[derive(Debug)]
struct Rules {
    git: Option<Gitignore>,
    own: Option<Gitignore>,
    above: Ignored,
}

impl Ignored {
    /// The rules of the directories between the root and the start of a walk.
    pub(crate) fn above(start: &SafePath, files: IgnoreFiles) -> Self {
        let names: Vec<_> = start.relative().iter().collect();
        (0..names.len()).fold(Self::default(), |ignored, depth| {
            let here: PathBuf = names[..depth].iter().collect();
            let Ok(directory) = OpenDirectory::above(start, &here) else { return ignored };
            let entries = directory.kinds().unwrap_or_default();
            ignored.with(&directory, &entries, files)
        })
    }

    /// The same, with what the directory's own files say.
    pub(crate) fn with(
        &self,
        directory: &OpenDirectory,
        entries: &[(OsString, EntryKind)],
        files: IgnoreFiles,
    ) -> Self {
        let has = |wanted: &str| {
            entries.iter().any(|(name, kind)| name == wanted && *kind == EntryKind::File)
        };
        let read = |names: &[&str]| {
            let there: Vec<&str> = names.iter().copied().filter(|name| has(name)).collect();
            (!there.is_empty()).then(|| rules(directory, &there)).flatten()
        };
        let (git, own) = files.names();
        match (read(git), read(own)) {
            (None, None) => self.clone(),
            (git, own) => Self(Some(Arc::new(Rules { git, own, above: self.clone() }))),
        }
    }

    /// Tells whether a name is ignored in this directory.
    pub(crate) fn covers(&self, directory: &Path, name: &OsStr, is_directory: bool) -> bool {
        if self.0.is_none() {
            return false;
        }
        let path = directory.join(name);
        let decided = |of: fn(&Rules) -> Option<&Gitignore>| {
            let mut level = self.0.as_deref();
            while let Some(rules) = level {
                match of(rules).map_or(Match::None, |rules| rules.matched(&path, is_directory)) {
                    Match::Ignore(_) => return Some(true),
                    Match::Whitelist(_) => return Some(false),
                    Match::None => level = rules.above.0.as_deref(),
                }
            }
            None
        };
        decided(|rules| rules.own.as_ref()).or_else(|| decided(|rules| rules.git.as_ref()))
            == Some(true)
    }
}

/// Tells if `.gitignore` files of the workspace name this directory.
pub fn is_ignored_directory(path: &SafePath) -> bool {
    let absolute = path.absolute();
    let (Some(parent), Some(name)) = (absolute.parent(), absolute.file_name()) else {
        return false;
    };
    Ignored::above(path, IgnoreFiles::Git).covers(parent, name, true)
}

fn rules(directory: &OpenDirectory, names: &[&str]) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new(directory.absolute());
    for name in names {
        let mut file = directory.open_undenied(name.as_ref()).ok()??;
        let (bytes, _) = file.read_up_to(MOST_RULES).ok()?;
        for line in String::from_utf8_lossy(&bytes).lines() {
            ignore_error(builder.add_line(None, line), "a line that is no pattern ignores nothing");
        }
    }
    builder.build().ok()
}
