//! The index of an earlier look or an earlier process, and the part of it that a later look replaces.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::stat::{IndexedFile, Known};
use super::table::{EntryState, FolderTable, TableDraft, TableEntry, differing, side_by_side};
use super::{Index, difference};

/// An index in the making, from files that were stored in the order of directory and name.
#[derive(Debug, Default)]
pub struct IndexMemory {
    index: Index,
    folder: String,
    draft: TableDraft,
    last: Vec<u8>,
}

impl IndexMemory {
    /// Begins the index of a working root.
    pub fn new(root: &Path) -> Self {
        let index = Index { root: root.to_owned(), ..Index::default() };
        Self { index, ..Self::default() }
    }

    /// Adds a file of a directory, which is relative to the root. One out of order is left out: it costs a
    /// read.
    pub fn add(&mut self, folder: &str, name: &str, file: &IndexedFile) {
        if folder != self.folder {
            self.end_folder();
            folder.clone_into(&mut self.folder);
        }
        if self.draft.len() == 0 || self.last.as_slice() < name.as_bytes() {
            self.draft.push(name.as_bytes(), TableEntry::of(file));
            self.last.clear();
            self.last.extend_from_slice(name.as_bytes());
        }
    }

    fn end_folder(&mut self) {
        let is_next =
            self.index.folders.last().is_none_or(|last| *last.path < *self.folder.as_str());
        if self.draft.len() > 0 && is_next {
            self.index.folders.push(Arc::new(self.draft.table(&self.folder)));
        }
        self.draft.clear();
    }

    /// The whole index.
    pub fn finish(mut self) -> Index {
        self.end_folder();
        self.index
    }
}

impl Index {
    /// Replaces what is known by a later look. What that did not reach is what it was.
    pub fn learn(&mut self, later: &Index) {
        if later.cut.is_none() {
            self.clone_from(later);
            return;
        }
        let mut folders = Vec::with_capacity(later.folders.len());
        side_by_side(
            (self.folders.len(), later.folders.len()),
            |one, other| self.folders[one].path.cmp(&later.folders[other].path),
            |one, other| {
                let (old, new) =
                    (one.map(|at| &self.folders[at]), other.map(|at| &later.folders[at]));
                folders.extend(match (old, new) {
                    (Some(old), Some(new)) if !Arc::ptr_eq(old, new) => {
                        Some(Arc::new(both(old, new)))
                    }
                    (Some(one), _) | (None, Some(one)) => Some(Arc::clone(one)),
                    (None, None) => None,
                });
            },
        );
        *self = Index { root: later.root.clone(), folders, cut: None };
    }

    /// The files that are known here and that a later look found gone, or read in the moment of a change.
    pub fn outdated_by(&self, later: &Index) -> Vec<PathBuf> {
        let mut gone = Vec::new();
        difference::folders(self, later, |path, before, after| {
            differing(before, after, |name, before, after| {
                let settled = EntryState::File(Known::Settled);
                if before.is_none_or(|entry| entry.state != settled) {
                    return;
                }
                let is_gone = match after.map(|entry| entry.state) {
                    Some(EntryState::File(known)) => known == Known::Recent,
                    _ => later.could_see(&later.absolute(path, name)),
                };
                if is_gone {
                    gone.push(later.absolute(path, name));
                }
            });
        });
        gone
    }
}

/// The names of two tables of one directory; a file that the later one does not have stays.
fn both(old: &FolderTable, new: &FolderTable) -> FolderTable {
    let mut draft = TableDraft::default();
    side_by_side(
        (old.len(), new.len()),
        |one, other| old.name(one).cmp(new.name(other)),
        |one, other| {
            let is_kept = other.is_none_or(|at| !new.entry(at).is_file());
            match (one, other) {
                (Some(at), _) if is_kept && old.entry(at).is_file() || other.is_none() => {
                    draft.push(old.name(at), *old.entry(at));
                }
                (_, Some(at)) => draft.push(new.name(at), *new.entry(at)),
                (_, None) => {}
            }
        },
    );
    draft.table(&old.path)
}
