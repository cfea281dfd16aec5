//! One directory of a scan: its names, judged by the rules of every walk, each with its stat.
//!
//! Law: a name that is there and cannot be looked at is said to be passed over; only one that is gone
//! is left out.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{self, AtFlags, FileType, Stat};
use rustix::io::Errno;

use super::Index;
use super::limits::{LookLimits, ReadScope};
use super::stat::{FileStat, Known};
use super::table::{EntryState, FolderTable, TableDraft, TableEntry};
use crate::file::OpenDirectory;
use crate::ignored::{IgnoreFiles, Ignored};
use crate::listing::{DirectoryListing, ListedName, Skip, WalkRules};
use crate::names::protected_part;
use crate::placeholder::{DIRECTORY_MODE, FILE_MODE, is_placeholder};
use crate::sandbox::Sandbox;

/// Bytes of a relative path beyond which the system opens no file by its path (`PATH_MAX`), so that
/// nothing could be put back there.
const LONGEST: usize = 4000;
/// Names after which the clock is asked.
const A_FEW: usize = 64;

/// One directory as it was found.
#[derive(Debug)]
pub(crate) enum FoundFolder {
    /// Nothing new is to be said of it.
    Known(Arc<FolderTable>),
    /// A new table, and the places of the files in it that have to be read.
    New { table: FolderTable, unread: Vec<u32> },
}

impl FoundFolder {
    pub(crate) fn path(&self) -> &str {
        match self {
            Self::Known(table) => &table.path,
            Self::New { table, .. } => &table.path,
        }
    }
}

/// The findings of one thread, or of all of them.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) folders: Vec<FoundFolder>,
    /// Directories that could not be entered, by their path.
    pub(crate) closed: Vec<(String, FileStat)>,
    pub(crate) draft: TableDraft,
}

impl Findings {
    /// Adds those of another thread.
    pub(crate) fn add(&mut self, mut other: Findings) {
        self.folders.append(&mut other.folders);
        self.closed.append(&mut other.closed);
    }
}

/// The workspace that is looked at, for all threads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FolderGround<'a> {
    pub(crate) sandbox: &'a Sandbox,
    pub(crate) known: &'a Index,
    pub(crate) limits: &'a LookLimits,
}

/// A directory to be looked at.
#[derive(Debug)]
pub(crate) struct FolderJob {
    start: FolderStart,
    /// The ignore rules of the directories above.
    above: Ignored,
    /// Relative to the root.
    path: String,
    stat: FileStat,
}

#[derive(Debug)]
enum FolderStart {
    Open(OpenDirectory),
    /// A name in a directory, opened in its turn: the queue holds few descriptors.
    Below(Arc<OpenDirectory>, OsString),
}

/// A directory while its names are looked at.
struct FolderLook<'a> {
    ground: FolderGround<'a>,
    directory: Arc<OpenDirectory>,
    ignored: Ignored,
    path: String,
    /// The names in it that are our own.
    own: Vec<&'a OsStr>,
    below: Vec<FolderJob>,
}

impl FolderJob {
    pub(crate) fn root(directory: OpenDirectory) -> Self {
        let (above, path, stat) = (Ignored::default(), String::new(), FileStat::default());
        Self { start: FolderStart::Open(directory), above, path, stat }
    }

    /// Looks at every name; returns the directories among them.
    pub(crate) fn look(self, ground: FolderGround<'_>, findings: &mut Findings) -> Vec<FolderJob> {
        let Self { start, above, path, stat } = self;
        let directory = match start {
            FolderStart::Open(directory) => Ok(directory),
            FolderStart::Below(parent, name) => parent.enter(&name),
        };
        let (sandbox, ignore_files) = (ground.sandbox, IgnoreFiles::Git);
        let rules = WalkRules { sandbox, ignore_files, skips_hidden: false };
        let listing = directory.and_then(|open| DirectoryListing::new(open, &above, rules));
        let Ok(DirectoryListing { directory, ignored, mut entries }) = listing else {
            findings.closed.push((path, stat));
            return Vec::new();
        };
        entries.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        let own = own_names(ground, &directory);
        let (directory, below) = (Arc::new(directory), Vec::new());
        let mut look = FolderLook { ground, directory, ignored, path, own, below };
        let known = ground.known.folder(&look.path);
        let found = look.table(&entries, known, findings);
        findings.folders.push(found);
        look.below
    }
}

fn own_names<'a>(ground: FolderGround<'a>, directory: &OpenDirectory) -> Vec<&'a OsStr> {
    let own = ground.sandbox.own().iter();
    own.filter(|own| own.parent() == Some(directory.absolute()))
        .filter_map(|own| own.file_name())
        .collect()
}

impl FolderLook<'_> {
    fn table(
        &mut self,
        entries: &[ListedName],
        known: Option<&Arc<FolderTable>>,
        findings: &mut Findings,
    ) -> FoundFolder {
        let draft = &mut findings.draft;
        draft.clear();
        let (mut unread, mut at) = (Vec::new(), 0);
        for (number, listed) in entries.iter().enumerate() {
            if number % A_FEW == 0 && self.ground.limits.is_cut(draft.len()) {
                break;
            }
            let name = listed.name.as_encoded_bytes();
            let before = known.and_then(|known| advance(known, &mut at, name));
            let Some(entry) = self.look_at(listed, before) else { continue };
            if entry.state == EntryState::Unread && !self.is_left_unread(&entry, before) {
                unread.extend(u32::try_from(draft.len()));
            }
            draft.push(name, entry);
        }
        self.ground.limits.count(draft.len());
        match known {
            Some(known) if unread.is_empty() && draft.is(known) => {
                FoundFolder::Known(Arc::clone(known))
            }
            _ => FoundFolder::New { table: draft.table(&self.path), unread },
        }
    }

    /// Tells whether a file stays unread, because it did not move and only those that did are read.
    fn is_left_unread(&self, entry: &TableEntry, before: Option<&TableEntry>) -> bool {
        let is_same =
            |before: &TableEntry| (before.state, before.stat) == (entry.state, entry.stat);
        self.ground.limits.budget.reads == ReadScope::Moved && before.is_some_and(is_same)
    }

    /// `None` where there is nothing, or nothing of the project.
    fn look_at(&mut self, listed: &ListedName, known: Option<&TableEntry>) -> Option<TableEntry> {
        let name = &listed.name;
        match listed.skip {
            Some(Skip::NotOfTheProject) => return None,
            _ if self.own.contains(&name.as_os_str()) => return None,
            Some(Skip::Hidden | Skip::Ignored | Skip::Denied) => {
                return Some(TableEntry::new(EntryState::Ignored, FileStat::default()));
            }
            None => {}
        }
        let passed_over = |stat| Some(TableEntry::new(EntryState::PassedOver, stat));
        let raw = match fs::statat(&*self.directory, &**name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(raw) => raw,
            Err(Errno::NOENT) => return None,
            Err(_) => return passed_over(FileStat::default()),
        };
        let stat = FileStat::new(&raw);
        let Some(text) = name.to_str() else { return passed_over(stat) };
        match FileType::from_raw_mode(raw.st_mode) {
            FileType::Directory => self.directory(text, &raw),
            FileType::RegularFile if self.stands_in(text, &stat) => None,
            FileType::RegularFile => Some(self.file(stat, known)),
            _ => passed_over(stat),
        }
    }

    /// Takes over what is known of a file whose stat did not move; any other is to be read.
    fn file(&self, stat: FileStat, known: Option<&TableEntry>) -> TableEntry {
        let settled = EntryState::File(Known::Settled);
        match known {
            Some(known) if known.state == settled && known.stat == stat => *known,
            _ => TableEntry::new(EntryState::Unread, stat),
        }
    }

    fn directory(&mut self, name: &str, raw: &Stat) -> Option<TableEntry> {
        let stat = FileStat::new(raw);
        if self.path.len() + name.len() > LONGEST {
            return Some(TableEntry::new(EntryState::PassedOver, stat));
        }
        let path = joined(&self.path, name);
        // What stands for a protected name while a command of any session runs is no directory of the project.
        let is_marked = stat.mode == DIRECTORY_MODE && protected_part(Path::new(&path)).is_some();
        if is_marked && is_placeholder(&self.directory.absolute().join(name)) {
            return None;
        }
        let start = FolderStart::Below(Arc::clone(&self.directory), name.into());
        self.below.push(FolderJob { start, above: self.ignored.clone(), path, stat });
        Some(TableEntry::new(EntryState::Directory, FileStat::of_directory(raw)))
    }

    /// The same of a file.
    fn stands_in(&self, name: &str, stat: &FileStat) -> bool {
        let is_marked = stat.mode == FILE_MODE && stat.size == 0;
        is_marked && protected_part(Path::new(&joined(&self.path, name))).is_some()
    }
}

/// The entry of a name in a known table, gone through in the same order.
fn advance<'t>(table: &'t FolderTable, at: &mut usize, name: &[u8]) -> Option<&'t TableEntry> {
    while *at < table.len() {
        match table.name(*at).cmp(name) {
            std::cmp::Ordering::Less => *at += 1,
            std::cmp::Ordering::Equal => return Some(table.entry(*at)),
            std::cmp::Ordering::Greater => return None,
        }
    }
    None
}

/// A name in a directory, both relative to the root.
pub(crate) fn joined(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}
