//! The index of a workspace's files: what a command changed is found by looking
//! before and after.
//!
//! Law: a file whose stat did not move is not read again; what lies beyond the budget is not
//! guessed at but said. `.git`, what the project ignores and our own state are not looked at. Memory is
//! one table a directory, which looks share until something in that directory moves.

mod difference;
mod folder;
mod limits;
mod memory;
mod read;
mod scan;
mod stat;
mod table;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use difference::{IndexChange, IndexDifference};
pub use limits::{LookBudget, ReadScope};
pub use memory::IndexMemory;
pub use stat::{FileStat, IndexedFile, Known};

use crate::sandbox::Sandbox;
use folder::{Findings, FolderGround, FoundFolder};
use limits::LookLimits;
use read::Reading;
use scan::Scan;
use table::{EntryState, FolderTable, TableEntry};

/// The files and directories of a workspace, by canonical path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Index {
    /// The working root.
    root: PathBuf,
    /// Ascending by path.
    folders: Vec<Arc<FolderTable>>,
    /// The reason why the walk ended early.
    pub cut: Option<String>,
}

/// Takes each file that has a new stat, with its content if it was read; `None` where the content is known
/// to be the same. The time that it takes is time of the look.
pub type ContentSink<'a> = &'a mut dyn FnMut(&Path, &IndexedFile, Option<Vec<u8>>);

impl Index {
    /// Looks at the working root. `known` saves reading what did not move.
    pub fn look(
        sandbox: &Sandbox,
        known: &Index,
        budget: LookBudget,
        keep: ContentSink<'_>,
    ) -> Index {
        Self::look_with(scan::thread_count(), sandbox, known, budget, keep)
    }

    /// The same, by so many threads.
    fn look_with(
        threads: usize,
        sandbox: &Sandbox,
        known: &Index,
        budget: LookBudget,
        keep: ContentSink<'_>,
    ) -> Index {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
        let now = i128::from(now.tv_sec) * 1_000_000_000 + i128::from(now.tv_nsec);
        let ground = FolderGround { sandbox, known, limits: &LookLimits::new(budget) };
        let (Findings { mut folders, closed, .. }, cut) = Scan::new(ground).run(threads);
        folders.sort_unstable_by(|one, other| one.path().cmp(other.path()));
        Reading { ground, now, keep, bytes: 0 }.run(&mut folders);
        let table = |found| match found {
            FoundFolder::Known(table) => table,
            FoundFolder::New { table, .. } => known.sharing(table),
        };
        let root = sandbox.working_root().path().to_owned();
        let mut index = Index { root, folders: folders.into_iter().map(table).collect(), cut };
        for (path, stat) in closed {
            index.pass_over(&path, stat, known);
        }
        index
    }

    /// Says of a directory that it could not be looked into.
    fn pass_over(&mut self, path: &str, stat: FileStat, known: &Index) {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let Ok(at) = self.position(folder) else { return };
        let mut table = FolderTable::clone(&self.folders[at]);
        table.set_named(name.as_bytes(), TableEntry::new(EntryState::PassedOver, stat));
        self.folders[at] = known.sharing(table);
    }

    /// The known table of the directory if it says the same.
    fn sharing(&self, table: FolderTable) -> Arc<FolderTable> {
        let same = self.folder(&table.path).filter(|known| ***known == table);
        same.map_or_else(|| Arc::new(table), Arc::clone)
    }

    fn position(&self, path: &str) -> Result<usize, usize> {
        self.folders.binary_search_by(|table| (*table.path).cmp(path))
    }

    fn folder(&self, path: &str) -> Option<&Arc<FolderTable>> {
        self.position(path).ok().map(|at| &self.folders[at])
    }

    /// The knowledge about a path relative to the root.
    fn entry(&self, relative: &Path) -> Option<&TableEntry> {
        let name = relative.file_name()?.as_encoded_bytes();
        self.folder(relative.parent()?.to_str()?)?.find(name)
    }

    /// Tells whether nothing is known yet.
    pub fn is_empty(&self) -> bool {
        self.folders.is_empty()
    }

    /// The number of files with a known content.
    pub fn file_count(&self) -> usize {
        let files = |table: &Arc<FolderTable>| table.iter().filter(|one| one.1.is_file()).count();
        self.folders.iter().map(files).sum()
    }

    /// A file with a known content, by absolute path.
    pub fn file(&self, path: &Path) -> Option<IndexedFile> {
        self.entry(path.strip_prefix(&self.root).ok()?)?.file()
    }

    /// A path that is not here is known not to exist.
    pub fn could_see(&self, path: &Path) -> bool {
        let hides = |above: &Path| self.entry(above).is_some_and(TableEntry::hides);
        let Ok(relative) = path.strip_prefix(&self.root) else { return false };
        self.cut.is_none() && !relative.ancestors().any(hides)
    }

    fn ignores(&self, path: &Path) -> bool {
        let is_ignored = |above: &Path| {
            self.entry(above).is_some_and(|entry| entry.state == EntryState::Ignored)
        };
        path.strip_prefix(&self.root).is_ok_and(|relative| relative.ancestors().any(is_ignored))
    }

    /// The absolute path of a name in a directory.
    fn absolute(&self, folder: &str, name: &[u8]) -> PathBuf {
        use std::os::unix::ffi::OsStrExt;
        self.root.join(folder).join(std::ffi::OsStr::from_bytes(name))
    }
}
