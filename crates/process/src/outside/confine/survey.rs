//! The names of a workspace that confinement has to judge, found by one walk (`getdents`) and kept up to date by
//! `inotify`, so that a command costs the changes since the last one and not the size of the tree. A small tree is
//! walked each time: that is quicker than the kernel is when a program with watches ends.
//!
//! Law: a name that has to be judged is among those found, or the walk is done again. A found name that need not be
//! judged any more does no harm, because everything found is judged anew. Where the kernel does not tell of every
//! change, nothing is remembered.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use jm_files::Sandbox;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::inotify;

use super::folder_walk::{FolderWalk, NameVerdict, WantedNames, is_found_link, verdict};
use crate::contract::mount_table::{mount_points, read_mount_table};
use crate::contract::within::is_within;

/// Of the watches that the machine has for a user, this part may be ours.
const SHARE_OF_WATCHES: usize = 4;
/// With more events than this in a row a walk is quicker.
const MOST_EVENTS: usize = 100_000;
/// A tree with more names than this is watched.
const FEW_NAMES: usize = 500;
/// A small tree is walked again as often where directories were renamed meanwhile.
const MOST_WALKS: usize = 3;
const WATCH_LIMIT: &str = "/proc/sys/fs/inotify/max_user_watches";

/// Local file systems, of which `inotify` tells every change: ext4, xfs, btrfs, tmpfs, f2fs, zfs, bcachefs.
const WATCHED: &[u64] =
    &[0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0xf2f5_2010, 0x2fc1_2fc1, 0xca45_1a4e];

/// The names that have to be judged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FoundNames {
    /// The names themselves; directories that cannot be entered, and git's, are among them.
    pub(super) paths: BTreeSet<PathBuf>,
    /// There are more names than are looked at.
    pub(super) is_cut: bool,
}

/// The names found so far, between the commands of a process.
#[derive(Debug)]
pub(super) struct WorkspaceSurvey {
    known: Mutex<Option<Surveyed>>,
    few: usize,
}

impl Default for WorkspaceSurvey {
    fn default() -> Self {
        Self { known: Mutex::default(), few: FEW_NAMES }
    }
}

impl WorkspaceSurvey {
    /// The names that have to be judged now.
    pub(super) fn names(&self, sandbox: &Sandbox) -> FoundNames {
        self.names_of(sandbox, self.few)
    }

    /// The same where nobody is expected to ask again: nothing more is watched.
    pub(super) fn names_once(&self, sandbox: &Sandbox) -> FoundNames {
        self.names_of(sandbox, usize::MAX)
    }

    fn names_of(&self, sandbox: &Sandbox, few: usize) -> FoundNames {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let ground = SurveyGround::of(sandbox);
        let is_current = known.as_mut().is_some_and(|known| {
            known.ground == ground && known.catch_up(sandbox) == Standing::Current
        });
        if !is_current {
            *known = None;
        }
        if known.is_none()
            && let Some(found) = few_names(sandbox, &ground, few)
        {
            return found;
        }
        let surveyed = known.get_or_insert_with(|| Surveyed::walked(sandbox, ground));
        surveyed.found.paths.retain(|path| path.symlink_metadata().is_ok());
        let found = surveyed.found.clone();
        if surveyed.watch.is_none() {
            *known = None;
        }
        found
    }
}

/// The names of a tree that has few of them; `None` where there are more, or names changed while they were read.
fn few_names(sandbox: &Sandbox, ground: &SurveyGround, few: usize) -> Option<FoundNames> {
    for _ in 0..MOST_WALKS {
        let (mut paths, mut has_missed) = (BTreeSet::new(), false);
        for (root, _) in &ground.roots {
            let walk = FolderWalk::new(sandbox, root, None).at_most(few);
            let walked = walk.run(root.clone(), WantedNames::All);
            if walked.is_cut {
                return None;
            }
            has_missed |= walked.has_missed;
            paths.extend(walked.found);
        }
        if !has_missed {
            return Some(FoundNames { paths, is_cut: false });
        }
    }
    None
}

/// All that the walk went by besides the names themselves.
#[derive(Debug, PartialEq, Eq)]
struct SurveyGround {
    /// Each root with its device and inode.
    roots: Vec<(PathBuf, Option<(u64, u64)>)>,
    patterns: Vec<String>,
    /// File systems mounted inside the roots.
    mounts: Vec<PathBuf>,
}

impl SurveyGround {
    fn of(sandbox: &Sandbox) -> Self {
        let identity = |path: &Path| {
            let found = path.symlink_metadata().ok()?;
            Some((found.dev(), found.ino()))
        };
        let roots: Vec<_> =
            sandbox.roots().map(|root| (root.path().to_owned(), identity(root.path()))).collect();
        let table = read_mount_table().unwrap_or_default();
        let is_inside =
            |point: &PathBuf| roots.iter().any(|(root, _)| point != root && is_within(point, root));
        let mounts = mount_points(&table).filter(is_inside).collect();
        Self { patterns: sandbox.denied_patterns().map(str::to_owned).collect(), roots, mounts }
    }

    /// Tells whether the kernel reports every change below the roots.
    fn is_reported(&self) -> bool {
        let is_local = |(root, _): &(PathBuf, _)| {
            let kind = rustix::fs::statfs(root.as_path()).map(|found| found.f_type as u64);
            kind.is_ok_and(|kind| WATCHED.contains(&kind))
        };
        self.mounts.is_empty() && self.roots.iter().all(is_local)
    }
}

#[derive(Debug)]
struct Surveyed {
    ground: SurveyGround,
    found: FoundNames,
    /// `None` where not every change is told: then the walk is done for each command.
    watch: Option<FolderWatch>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Current,
    /// Changes were missed.
    Lost,
}

impl Surveyed {
    fn walked(sandbox: &Sandbox, ground: SurveyGround) -> Self {
        let watch = ground.is_reported().then(FolderWatch::new).flatten();
        let roots: Vec<PathBuf> = ground.roots.iter().map(|(root, _)| root.clone()).collect();
        let mut surveyed = Self { ground, found: FoundNames::default(), watch };
        for root in roots {
            surveyed.walk(sandbox, &root, root.clone(), WantedNames::All);
        }
        surveyed
    }

    /// Looks through a directory and all below it.
    fn walk(&mut self, sandbox: &Sandbox, root: &Path, top: PathBuf, wanted: WantedNames) {
        let events = self.watch.as_ref().map(|watch| (watch.events.as_fd(), watch.left()));
        let walked = FolderWalk::new(sandbox, root, events).run(top, wanted);
        self.found.paths.extend(walked.found);
        self.found.is_cut |= walked.is_cut;
        let is_watched = walked.is_watched;
        let watch = self.watch.take().filter(|_| is_watched);
        self.watch = watch.and_then(|watch| watch.with(walked.watched));
    }

    /// Takes in what happened since the last time.
    fn catch_up(&mut self, sandbox: &Sandbox) -> Standing {
        // Walking through what is new may be told of more.
        const MOST_ROUNDS: usize = 4;
        for _ in 0..MOST_ROUNDS {
            let Some(watch) = &mut self.watch else { return Standing::Lost };
            match watch.read() {
                Some(happened) if happened.is_empty() => return Standing::Current,
                Some(happened) => happened.into_iter().for_each(|one| self.take_in(sandbox, one)),
                None => return Standing::Lost,
            }
        }
        Standing::Lost
    }

    fn take_in(&mut self, sandbox: &Sandbox, ((folder, name), news): (FolderName, FolderNews)) {
        let path = folder.join(&name);
        let mut roots = self.ground.roots.iter().map(|(root, _)| root);
        let Some(root) = roots.rfind(|root| is_within(&path, root)).cloned() else {
            return;
        };
        let relative = folder.strip_prefix(&root).unwrap_or(&folder);
        let wanted = WantedNames::of(relative);
        if name.as_os_str() == "HEAD" && wanted == WantedNames::All {
            self.found.paths.insert(folder.clone());
        }
        match verdict(sandbox, (&folder, relative, wanted), name.as_os_str()) {
            NameVerdict::Denied => drop(self.found.paths.insert(path)),
            NameVerdict::Protected => {
                self.found.paths.insert(path.clone());
                if news != FolderNews::FileCame {
                    self.walk(sandbox, &root, path, WantedNames::Denied);
                }
            }
            NameVerdict::Objects => {}
            NameVerdict::Plain => self.take_in_plain(sandbox, (&root, path, wanted), news),
        }
    }

    fn take_in_plain(
        &mut self,
        sandbox: &Sandbox,
        (root, path, wanted): (&Path, PathBuf, WantedNames),
        news: FolderNews,
    ) {
        match news {
            FolderNews::FileCame => {
                let relative = path.strip_prefix(root).unwrap_or(&path);
                let (folder, name) = (relative.parent(), relative.file_name());
                let is_found = folder.zip(name).is_some_and(|(folder, name)| {
                    is_found_link(wanted, folder, name) && path.is_symlink()
                });
                if is_found {
                    self.found.paths.insert(path);
                }
            }
            FolderNews::DirectoryCame => self.walk(sandbox, root, path, wanted),
            // Nothing but the way in can have changed.
            FolderNews::ModeChanged if self.found.paths.contains(&path) => {
                self.walk(sandbox, root, path, wanted);
            }
            FolderNews::ModeChanged if is_searchable(&path) => {}
            FolderNews::ModeChanged => {
                self.found.paths.insert(path);
            }
        }
    }
}

/// Tells whether the names of a directory can be listed and looked up: one that only lists them would
/// pass for a directory of missing files.
pub(super) fn is_searchable(folder: &Path) -> bool {
    let is_denied = |error: std::io::Error| error.kind() == std::io::ErrorKind::PermissionDenied;
    let looked = folder.join(".").symlink_metadata().map(|_| ());
    let listed = looked.and_then(|()| std::fs::read_dir(folder).map(|_| ()));
    !listed.is_err_and(is_denied)
}

/// The watches of a walk's directories.
#[derive(Debug)]
struct FolderWatch {
    events: OwnedFd,
    folders: HashMap<i32, PathBuf>,
    most: usize,
}

/// A watched directory, and a name in it.
type FolderName = (PathBuf, PathBuf);

/// Something that happened to a name; of several events the greatest covers the others.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum FolderNews {
    FileCame,
    /// Of a directory. The attributes of a file change nothing of how its name is judged.
    ModeChanged,
    DirectoryCame,
}

impl FolderWatch {
    fn new() -> Option<Self> {
        let flags = inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK;
        let limit: usize = std::fs::read_to_string(WATCH_LIMIT).ok()?.trim().parse().ok()?;
        let events = inotify::init(flags).ok()?;
        Some(Self { events, folders: HashMap::new(), most: limit / SHARE_OF_WATCHES })
    }

    /// How many more directories may be watched.
    fn left(&self) -> usize {
        self.most.saturating_sub(self.folders.len())
    }

    /// Takes in the watches that a walk has added; `None` where that makes too many.
    fn with(mut self, watched: Vec<(i32, PathBuf)>) -> Option<Self> {
        self.folders.extend(watched);
        (self.folders.len() <= self.most).then_some(self)
    }

    /// Everything that happened since the last time, once for each name: another process may exchange names without end.
    /// `None` where something was missed.
    fn read(&mut self) -> Option<BTreeMap<FolderName, FolderNews>> {
        let mut space = [MaybeUninit::uninit(); 16 * 1024];
        let mut reader = inotify::Reader::new(&self.events, &mut space);
        let mut happened = BTreeMap::new();
        for _ in 0..MOST_EVENTS {
            let event = match reader.next() {
                Err(rustix::io::Errno::AGAIN) => return Some(happened),
                event => event.ok()?,
            };
            let flags = event.events();
            if flags.intersects(inotify::ReadFlags::QUEUE_OVERFLOW | inotify::ReadFlags::UNMOUNT) {
                return None;
            }
            if flags.contains(inotify::ReadFlags::IGNORED) {
                self.folders.remove(&event.wd());
                continue;
            }
            let is_directory = flags.contains(inotify::ReadFlags::ISDIR);
            let news = match (flags.contains(inotify::ReadFlags::ATTRIB), is_directory) {
                (false, false) => FolderNews::FileCame,
                (false, true) => FolderNews::DirectoryCame,
                (true, true) => FolderNews::ModeChanged,
                (true, false) => continue,
            };
            let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
            if let (Some(name), Some(folder)) = (name, self.folders.get(&event.wd())) {
                let known = happened.entry((folder.clone(), PathBuf::from(name))).or_insert(news);
                *known = news.max(*known);
            }
        }
        // They come faster than they are read.
        None
    }
}

#[cfg(test)]
mod tests;
