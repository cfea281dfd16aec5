//! The compact table of one directory: all names in one buffer, one record of fixed size for each.
//!
//! Law: names ascend by bytes, so that two tables are compared in one pass. A table does not change
//! once it is shared.

use std::cmp::Ordering;

use jm_types::Digest;

use super::stat::FileStat;
use super::{IndexedFile, Known};

/// Knowledge about one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryState {
    /// A file with a known content.
    File(Known),
    /// A file that was not read, though nothing but a budget forbade it. A later change shows in its stat.
    Unread,
    /// Unreadable, too large, or neither file nor directory.
    PassedOver,
    /// A directory; only its permission bits count.
    Directory,
    /// The project ignores it, or tools may not read it.
    Ignored,
}

/// One name of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TableEntry {
    pub(crate) stat: FileStat,
    /// Of a file with a known content.
    pub(crate) sha256: Digest,
    /// The end of its name in the buffer.
    end: u32,
    pub(crate) state: EntryState,
}

impl TableEntry {
    pub(crate) fn new(state: EntryState, stat: FileStat) -> Self {
        Self { stat, sha256: Digest::from_bytes([0; 32]), end: 0, state }
    }

    pub(crate) fn of(file: &IndexedFile) -> Self {
        let state = EntryState::File(file.known);
        Self { sha256: file.sha256, ..Self::new(state, file.stat) }
    }

    pub(crate) fn file(&self) -> Option<IndexedFile> {
        match self.state {
            EntryState::File(known) => {
                Some(IndexedFile { stat: self.stat, sha256: self.sha256, known })
            }
            EntryState::Unread
            | EntryState::PassedOver
            | EntryState::Directory
            | EntryState::Ignored => None,
        }
    }

    pub(crate) fn is_file(&self) -> bool {
        matches!(self.state, EntryState::File(_))
    }

    /// The stat of what was met and not looked into.
    pub(crate) fn passed_over(&self) -> Option<FileStat> {
        matches!(self.state, EntryState::Unread | EntryState::PassedOver).then_some(self.stat)
    }

    /// The permission bits of a directory.
    pub(crate) fn directory(&self) -> Option<u32> {
        (self.state == EntryState::Directory).then_some(self.stat.mode)
    }

    /// Tells whether something may lie here or below that is not known.
    pub(crate) fn hides(&self) -> bool {
        self.state == EntryState::Ignored || self.passed_over().is_some()
    }

    /// Says the same of the same name, wherever the name lies.
    fn says_the_same(&self, other: &Self) -> bool {
        (self.state, self.stat, self.sha256) == (other.state, other.stat, other.sha256)
    }
}

/// The names of one directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FolderTable {
    /// Relative to the root, empty for the root itself.
    pub(crate) path: Box<str>,
    names: Box<[u8]>,
    entries: Box<[TableEntry]>,
}

impl FolderTable {
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn name(&self, at: usize) -> &[u8] {
        let start = at.checked_sub(1).map_or(0, |before| self.entries[before].end as usize);
        &self.names[start..self.entries[at].end as usize]
    }

    pub(crate) fn entry(&self, at: usize) -> &TableEntry {
        &self.entries[at]
    }

    pub(crate) fn find(&self, name: &[u8]) -> Option<&TableEntry> {
        self.position(name).map(|at| &self.entries[at])
    }

    fn position(&self, name: &[u8]) -> Option<usize> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            match self.name(middle).cmp(name) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Some(middle),
                Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// Says something else of a name that is here.
    pub(crate) fn set(&mut self, at: usize, entry: TableEntry) {
        let end = self.entries[at].end;
        self.entries[at] = TableEntry { end, ..entry };
    }

    pub(crate) fn set_named(&mut self, name: &[u8], entry: TableEntry) {
        if let Some(at) = self.position(name) {
            self.set(at, entry);
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], &TableEntry)> {
        (0..self.len()).map(|at| (self.name(at), &self.entries[at]))
    }
}

/// A table in the making. Its buffers are used again for the next one.
#[derive(Debug, Default)]
pub(crate) struct TableDraft {
    names: Vec<u8>,
    entries: Vec<TableEntry>,
}

impl TableDraft {
    pub(crate) fn clear(&mut self) {
        self.names.clear();
        self.entries.clear();
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Adds a name that comes after all others. A buffer that is full takes no more.
    pub(crate) fn push(&mut self, name: &[u8], entry: TableEntry) {
        if let Ok(end) = u32::try_from(self.names.len() + name.len()) {
            self.names.extend_from_slice(name);
            self.entries.push(TableEntry { end, ..entry });
        }
    }

    /// Tells whether a finished table has the same names and says the same of them.
    pub(crate) fn is(&self, table: &FolderTable) -> bool {
        self.names.as_slice() == &*table.names && self.entries.as_slice() == &*table.entries
    }

    pub(crate) fn table(&self, path: &str) -> FolderTable {
        FolderTable {
            path: path.into(),
            names: self.names.as_slice().into(),
            entries: self.entries.as_slice().into(),
        }
    }
}

/// Goes through two ascending sequences side by side: the positions of what is in one of them or in both.
pub(crate) fn side_by_side(
    (left, right): (usize, usize),
    order: impl Fn(usize, usize) -> Ordering,
    mut each: impl FnMut(Option<usize>, Option<usize>),
) {
    let (mut one, mut other) = (0, 0);
    while one < left || other < right {
        let next = match (one < left, other < right) {
            (true, true) => order(one, other),
            (true, false) => Ordering::Less,
            (false, _) => Ordering::Greater,
        };
        each(next.is_le().then_some(one), next.is_ge().then_some(other));
        one += usize::from(next.is_le());
        other += usize::from(next.is_ge());
    }
}

/// The names of which two tables say different things, with what each says.
pub(crate) fn differing<'a>(
    before: Option<&'a FolderTable>,
    after: Option<&'a FolderTable>,
    mut each: impl FnMut(&'a [u8], Option<&'a TableEntry>, Option<&'a TableEntry>),
) {
    let length = |table: Option<&FolderTable>| table.map_or(0, FolderTable::len);
    let name = |table: Option<&'a FolderTable>, at| table.map_or(&[][..], |table| table.name(at));
    side_by_side(
        (length(before), length(after)),
        |one, other| name(before, one).cmp(name(after, other)),
        |one, other| {
            let entry = |table: Option<&'a FolderTable>, at: Option<usize>| {
                table.zip(at).map(|(table, at)| table.entry(at))
            };
            let (first, second) = (entry(before, one), entry(after, other));
            let is_same = first.zip(second).is_some_and(|(one, other)| one.says_the_same(other));
            if !is_same {
                let named = one.map(|at| name(before, at));
                each(named.or(other.map(|at| name(after, at))).unwrap_or(&[]), first, second);
            }
        },
    );
}
