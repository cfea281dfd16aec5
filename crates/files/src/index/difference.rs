//! The difference of two looks: one pass over both, which allocates for what differs alone.
//!
//! Law: only what both looks could see is compared: what one of them passed over was not created by
//! being seen, nor deleted by not being seen.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Index;
use super::stat::IndexedFile;
use super::table::{EntryState, FolderTable, TableEntry, differing, side_by_side};

/// A path that differs between two looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexChange {
    /// Absolute.
    pub path: PathBuf,
    /// The file at the first look; `None` where there was none.
    pub before: Option<IndexedFile>,
    /// The file at the second look; `None` where there was none.
    pub after: Option<IndexedFile>,
}

/// The changes between two looks, and what cannot be told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexDifference {
    /// Files that were created, changed or deleted.
    pub files: Vec<IndexChange>,
    /// Directories with their permission bits before and after.
    pub directories: Vec<(PathBuf, Option<u32>, Option<u32>)>,
    /// The reason why it is not everything.
    pub gap: Option<String>,
}

/// Names that a gap gives.
const NAMED: usize = 5;

impl Index {
    /// Compares this look with a later one.
    pub fn difference(&self, later: &Index) -> IndexDifference {
        let found = IndexDifference::default();
        let mut comparison =
            Comparison { before: self, after: later, found, untold: Untold::default() };
        folders(self, later, |folder, before, after| {
            differing(before, after, |name, before, after| {
                comparison.name(later.absolute(folder, name), before, after);
            });
        });
        let Comparison { mut found, untold, .. } = comparison;
        found.files.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        found.directories.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        found.gap = self.cut.clone().or_else(|| later.cut.clone()).or_else(|| untold.named());
        found
    }
}

/// The directories whose tables two looks do not share, with both tables.
pub(super) fn folders(
    before: &Index,
    after: &Index,
    mut each: impl FnMut(&str, Option<&FolderTable>, Option<&FolderTable>),
) {
    side_by_side(
        (before.folders.len(), after.folders.len()),
        |one, other| before.folders[one].path.cmp(&after.folders[other].path),
        |one, other| {
            let (one, other) =
                (one.map(|at| &before.folders[at]), other.map(|at| &after.folders[at]));
            let is_shared = one.zip(other).is_some_and(|(one, other)| Arc::ptr_eq(one, other));
            if let Some(any) = one.or(other).filter(|_| !is_shared) {
                each(&any.path, one.map(Arc::as_ref), other.map(Arc::as_ref));
            }
        },
    );
}

struct Comparison<'a> {
    before: &'a Index,
    after: &'a Index,
    found: IndexDifference,
    untold: Untold,
}

impl Comparison<'_> {
    fn name(&mut self, path: PathBuf, before: Option<&TableEntry>, after: Option<&TableEntry>) {
        if is_only_read_now(before, after) {
            return;
        }
        let told = |entry: Option<&TableEntry>| entry.and_then(TableEntry::passed_over);
        let mut is_untold = told(before) != told(after);
        let file = |entry: Option<&TableEntry>| entry.and_then(TableEntry::file);
        let (one, other) = (file(before), file(after));
        let same = match (one, other) {
            (Some(a), Some(b)) => a.sha256 == b.sha256 && a.stat.mode == b.stat.mode,
            (Some(_), None) => !self.after.could_see(&path),
            (None, Some(_)) => !self.before.could_see(&path),
            (None, None) => true,
        };
        is_untold |= same
            && one.is_some() != other.is_some()
            && !self.before.ignores(&path)
            && !self.after.ignores(&path);
        let mode = |entry: Option<&TableEntry>| entry.and_then(TableEntry::directory);
        let (was, is) = (mode(before), mode(after));
        if was != is && self.before.could_see(&path) && self.after.could_see(&path) {
            self.found.directories.push((path.clone(), was, is));
        }
        if is_untold {
            self.untold.add(&path);
        }
        if !same {
            self.found.files.push(IndexChange { path, before: one, after: other });
        }
    }
}

/// A file that the first look had no budget to read, and that was not changed since: its stat is the same.
fn is_only_read_now(before: Option<&TableEntry>, after: Option<&TableEntry>) -> bool {
    before.zip(after).is_some_and(|(before, after)| {
        before.state == EntryState::Unread && after.is_file() && before.stat == after.stat
    })
}

/// Paths of which nothing can be told: the first of them, and how many.
#[derive(Debug, Default)]
struct Untold {
    first: BTreeSet<PathBuf>,
    count: usize,
}

impl Untold {
    fn add(&mut self, path: &Path) {
        self.count += 1;
        self.first.insert(path.to_owned());
        if self.first.len() > NAMED {
            self.first.pop_last();
        }
    }

    fn named(&self) -> Option<String> {
        let names: Vec<String> = self.first.iter().map(|path| path.display().to_string()).collect();
        match self.count {
            0 => None,
            count if count <= NAMED => Some(format!("not looked into: {}", names.join(", "))),
            count => {
                Some(format!("not looked into: {} and {} more", names.join(", "), count - NAMED))
            }
        }
    }
}
