//! A walk through the directories of a workspace on several threads (`getdents`), each watched before it is read
//! (`inotify`).
//!
//! Law: no link is followed. A directory that cannot be entered is among the names found. Below a denied name nothing
//! is looked at, below a protected one only denied names and links count.

use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use jm_files::Sandbox;
use jm_files::names::{Protection, protected_below, protected_part, protection, protection_in};
use rustix::fd::BorrowedFd;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir, inotify};
use rustix::io::{self, Errno};

/// Names of the workspace beyond this number are not judged.
pub(super) const MOST_ENTRIES: usize = 5_000_000;
const MOST_THREADS: usize = 4;
/// Fewer directories are looked at sooner than a thread starts.
const WORTH_THREADS: usize = 32;
const SPACE: usize = 32 * 1024;
/// Levels of a protected directory in which links are found.
const LINK_LEVELS: usize = 4;

/// The names of a directory that are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WantedNames {
    /// Denied and protected ones, and links to directories of the latter.
    All,
    /// Denied ones, and links: the directory is protected, with all that it holds.
    Denied,
}

impl WantedNames {
    /// Those of a directory, by its path below the root.
    pub(super) fn of(relative: &Path) -> Self {
        match protection(relative) {
            Protection::NeedsPerson(_) | Protection::Never => Self::Denied,
            Protection::RunsInBuilds | Protection::None => Self::All,
        }
    }
}

/// The judgement of one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameVerdict {
    /// It is found, and nothing below it is looked at.
    Denied,
    /// It is found, and below it denied names are.
    Protected,
    /// Neither; directories are entered.
    Plain,
    /// Git's objects, named by their content: a directory of these is not entered.
    Objects,
}

/// A walk, shared by its threads.
pub(super) struct FolderWalk<'a> {
    sandbox: &'a Sandbox,
    root: &'a Path,
    /// The instance of `inotify` that watches each directory, and how many at most; `None` for none.
    events: Option<(BorrowedFd<'a>, usize)>,
    /// Names that are looked at.
    most: usize,
    state: Mutex<WalkState>,
    has_more: Condvar,
}

/// Names and watches that a walk brings.
#[derive(Default)]
pub(super) struct WalkedFolders {
    pub(super) found: Vec<PathBuf>,
    pub(super) watched: Vec<(i32, PathBuf)>,
    /// Every directory is watched that is there and can be entered.
    pub(super) is_watched: bool,
    /// There are more names than are looked at.
    pub(super) is_cut: bool,
    /// A directory was gone when it was to be read: it may have another name now, which was not listed.
    pub(super) has_missed: bool,
}

#[derive(Default)]
struct WalkState {
    waiting: Vec<(PathBuf, WantedNames)>,
    /// Threads that look at a directory now.
    busy: usize,
    entries: usize,
    walked: WalkedFolders,
}

/// The names of one directory.
#[derive(Default)]
struct FolderNames {
    found: Vec<PathBuf>,
    below: Vec<(PathBuf, WantedNames)>,
    count: usize,
    /// There are more.
    is_cut: bool,
    is_gone: bool,
}

impl<'a> FolderWalk<'a> {
    pub(super) fn new(
        sandbox: &'a Sandbox,
        root: &'a Path,
        events: Option<(BorrowedFd<'a>, usize)>,
    ) -> Self {
        let walked = WalkedFolders { is_watched: true, ..WalkedFolders::default() };
        let state = Mutex::new(WalkState { walked, ..WalkState::default() });
        let has_more = Condvar::new();
        Self { sandbox, root, events, most: MOST_ENTRIES, state, has_more }
    }

    /// The same with fewer names.
    pub(super) fn at_most(mut self, most: usize) -> Self {
        self.most = most.min(MOST_ENTRIES);
        self
    }

    /// Walks from a directory on.
    pub(super) fn run(self, top: PathBuf, wanted: WantedNames) -> WalkedFolders {
        self.state().waiting.push((top, wanted));
        let mut space = vec![MaybeUninit::uninit(); SPACE];
        while self.state().waiting.len() < WORTH_THREADS {
            let Some(folder) = self.next() else { break };
            self.look(folder, &mut space);
        }
        if !self.state().waiting.is_empty() {
            let threads = std::thread::available_parallelism().map_or(1, usize::from);
            std::thread::scope(|scope| {
                for _ in 1..threads.min(MOST_THREADS) {
                    // Without one more it only takes longer.
                    drop(std::thread::Builder::new().spawn_scoped(scope, || self.work()));
                }
                self.work();
            });
        }
        self.state.into_inner().unwrap_or_else(PoisonError::into_inner).walked
    }

    fn work(&self) {
        let mut space = vec![MaybeUninit::uninit(); SPACE];
        while let Some(folder) = self.next() {
            self.look(folder, &mut space);
        }
    }

    /// The next directory; `None` when all were looked at.
    fn next(&self) -> Option<(PathBuf, WantedNames)> {
        let mut state = self.state();
        loop {
            if let Some(folder) = state.waiting.pop() {
                state.busy += 1;
                return Some(folder);
            }
            if state.busy == 0 {
                return None;
            }
            state = self.has_more.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn look(&self, (folder, wanted): (PathBuf, WantedNames), space: &mut [MaybeUninit<u8>]) {
        // Before it is read, so that nothing happens between the two.
        let watched = self.events.and_then(|(events, most)| {
            let may_watch = self.may_watch(most);
            may_watch.then(|| watch(events, &folder))
        });
        let names = self.names(&folder, wanted, space);
        let mut state = self.state();
        match watched {
            Some(Ok(Some(number))) => state.walked.watched.push((number, folder.clone())),
            Some(Ok(None)) | None => {}
            Some(Err(_)) => state.walked.is_watched = false,
        }
        match names {
            Ok(names) => {
                state.walked.is_cut |= names.is_cut;
                state.walked.has_missed |= names.is_gone;
                state.entries += names.count;
                state.walked.found.extend(names.found);
                state.waiting.extend(names.below);
            }
            Err(_) => state.walked.found.push(folder),
        }
        state.walked.is_cut |= state.entries > self.most && !state.waiting.is_empty();
        if state.walked.is_cut {
            state.waiting.clear();
        }
        state.busy -= 1;
        self.has_more.notify_all();
    }

    /// Looks at the names of one directory.
    fn names(
        &self,
        folder: &Path,
        wanted: WantedNames,
        space: &mut [MaybeUninit<u8>],
    ) -> io::Result<FolderNames> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut names = FolderNames::default();
        let opened = match rustix::fs::openat(CWD, folder, flags, Mode::empty()) {
            // It went, or became something else, which a watch tells.
            Err(Errno::NOENT | Errno::NOTDIR) => {
                names.is_gone = true;
                return Ok(names);
            }
            opened => opened?,
        };
        // One that only lists its names would pass for a directory of missing files.
        rustix::fs::statat(&opened, ".", AtFlags::SYMLINK_NOFOLLOW)?;
        let relative = folder.strip_prefix(self.root).unwrap_or(folder);
        let mut entries = RawDir::new(&opened, space);
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let verdict = verdict(self.sandbox, (folder, relative, wanted), name);
            if verdict == NameVerdict::Objects {
                continue;
            }
            names.count += 1;
            if names.count > self.most {
                names.is_cut = true;
                break;
            }
            // By one of its names a directory may be git's own.
            if name == "HEAD" && wanted == WantedNames::All {
                names.found.push(folder.to_owned());
            }
            let inside = match verdict {
                NameVerdict::Denied | NameVerdict::Objects => None,
                NameVerdict::Protected => Some(WantedNames::Denied),
                NameVerdict::Plain => Some(wanted),
            };
            let is_found = matches!(verdict, NameVerdict::Denied | NameVerdict::Protected);
            let is_link = || is_link(entry.file_type(), folder, name);
            if is_found || is_link() && is_found_link(wanted, relative, name) {
                names.found.push(folder.join(name));
            }
            if let Some(inside) = inside
                && is_directory(entry.file_type(), folder, name)
            {
                names.below.push((folder.join(name), inside));
            }
        }
        Ok(names)
    }

    /// Tells whether one more may be watched. The user has so many, and other programs need them too: once there are
    /// too many none of them is of use.
    fn may_watch(&self, most: usize) -> bool {
        let mut state = self.state();
        state.walked.is_watched &= state.walked.watched.len() < most;
        state.walked.is_watched
    }

    fn state(&self) -> MutexGuard<'_, WalkState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Judges a name in a directory, given by its path, its path below the root, and the names wanted of it.
pub(super) fn verdict(
    sandbox: &Sandbox,
    (folder, relative, wanted): (&Path, &Path, WantedNames),
    name: &OsStr,
) -> NameVerdict {
    if sandbox.denies_in(folder, name) {
        return NameVerdict::Denied;
    }
    if wanted == WantedNames::Denied {
        let is_objects = folder.file_name() == Some(OsStr::new("objects"))
            && name.len() == 2
            && name.as_bytes().iter().all(u8::is_ascii_hexdigit);
        return if is_objects { NameVerdict::Objects } else { NameVerdict::Plain };
    }
    match protection_in(relative, name) {
        Protection::NeedsPerson(_) | Protection::Never => NameVerdict::Protected,
        Protection::RunsInBuilds | Protection::None => NameVerdict::Plain,
    }
}

/// Tells whether a link is found that has this name in a directory, given by its path below the root: one that leads to
/// names that are protected here.
pub(super) fn is_found_link(wanted: WantedNames, relative: &Path, name: &OsStr) -> bool {
    match wanted {
        WantedNames::All => protected_below(&relative.join(name)).is_some(),
        // Work trees that an agent makes in its directory share this one.
        WantedNames::Denied => name != "node_modules" && has_found_links(relative),
    }
}

/// Tells whether links are found in a directory, by its path below the root: where it is protected, and not one of git's,
/// which are full of names that nothing runs.
pub(super) fn has_found_links(relative: &Path) -> bool {
    if relative.iter().any(|name| name == ".git" || name == "node_modules") {
        return false;
    }
    let part = protected_part(relative).and_then(|(part, _)| relative.strip_prefix(part).ok());
    part.is_some_and(|below| below.iter().count() < LINK_LEVELS)
}

fn is_link(kind: FileType, folder: &Path, name: &OsStr) -> bool {
    match kind {
        FileType::Unknown => folder.join(name).is_symlink(),
        kind => kind.is_symlink(),
    }
}

fn is_directory(kind: FileType, folder: &Path, name: &OsStr) -> bool {
    match kind {
        FileType::Unknown => folder.join(name).symlink_metadata().is_ok_and(|it| it.is_dir()),
        kind => kind.is_dir(),
    }
}

/// The number of a directory's watch; `None` for one that is gone, or cannot be entered: that is found itself, and its
/// directory tells when that changes.
fn watch(events: BorrowedFd<'_>, folder: &Path) -> io::Result<Option<i32>> {
    let kinds = inotify::WatchFlags::CREATE
        | inotify::WatchFlags::MOVED_TO
        | inotify::WatchFlags::ATTRIB
        | inotify::WatchFlags::ONLYDIR
        | inotify::WatchFlags::DONT_FOLLOW;
    match inotify::add_watch(events, folder, kinds) {
        Ok(number) => Ok(Some(number)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) => Ok(None),
        Err(error) => Err(error),
    }
}
