//! Inotify watches that hold protected names while a command runs.
//!
//! A mount belongs to a file and not to its name. Whoever renames another file over the name from
//! outside, as editors and git do, takes the mount away; and a name that is missing has nothing to
//! be mounted on.
//!
//! Law: a protected name that got another file is protected again, and a name that must not exist
//! is renamed, as soon as the kernel tells of it; the latter once more when the command has ended.
//! The watches begin with a delay: removing them costs the kernel 15 ms, more than most commands take.
//! A user has so many watches, and any process can take them all: then the names are looked at again and again.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use jm_files::git_control::ASIDE;
use jm_types::ignore_error;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, RenameFlags, StatxFlags, inotify};
use rustix::io::{Errno, Result};

use super::mount_calls::{MountDepth, open_beneath};
use super::mounts::{attach_inside, is_inside, open_root};
use crate::contract::confinement_rules::ConfinementRules;
use crate::contract::layout::MountKind;
use crate::contract::within::is_within;

/// Names of one spelling that are put aside beside each other.
const MOST_ASIDE: u128 = 100;

#[derive(Debug, Clone, Copy)]
enum Duty {
    Hold(MountKind),
    Absent,
}

fn is_link(file: &OwnedFd) -> bool {
    let found = rustix::fs::fstat(file);
    found.is_ok_and(|found| FileType::from_raw_mode(found.st_mode).is_symlink())
}

/// Renames to a name that is free.
fn rename_aside(folder: &OwnedFd, name: &OsStr) {
    // A command may have taken any number of these.
    let moment = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    for number in (0..MOST_ASIDE).chain(moment..moment + MOST_ASIDE) {
        let mut aside: OsString = name.to_owned();
        aside.push(ASIDE);
        aside.push(number.to_string());
        match rustix::fs::renameat_with(folder, name, folder, &aside, RenameFlags::NOREPLACE) {
            Err(Errno::EXIST) => {}
            // Missing, which is what is wanted, or done.
            _ => return,
        }
    }
}

/// Protected names of a running command.
#[derive(Debug)]
pub(crate) struct NameGuard {
    names: Vec<(PathBuf, Duty)>,
    known: HashSet<OsString>,
    /// The root of the command's tree.
    root: OwnedFd,
    watches: Option<Watches>,
    /// Set where the kernel gave no watch for some name: when all are looked at again.
    next_look: Option<Instant>,
}

#[derive(Debug)]
struct Watches {
    events: OwnedFd,
    folders: HashMap<i32, PathBuf>,
}

impl NameGuard {
    /// A command that ends earlier is not watched.
    pub(crate) const DELAY: Duration = Duration::from_millis(40);
    /// Between two looks at all names; where a look takes long, this many times as long.
    const INTERVAL: Duration = Duration::from_millis(50);
    const REST: u32 = 10;

    /// `None` where nothing is protected. Without mounts only missing names are guarded.
    pub(crate) fn new(
        rules: &ConfinementRules,
        mounts: &[(PathBuf, MountKind)],
    ) -> Result<Option<Self>> {
        let held = mounts.iter().filter(|(path, _)| is_inside(path, rules));
        let held = held.map(|(path, place)| (path.clone(), Duty::Hold(*place)));
        let absent = rules.absent.iter().map(|path| (path.clone(), Duty::Absent));
        let names: Vec<(PathBuf, Duty)> = held.chain(absent).collect();
        if names.is_empty() {
            return Ok(None);
        }
        // A name that must not exist may come with a directory around it.
        let around = names.iter().flat_map(|(path, duty)| match duty {
            Duty::Hold(_) => path.ancestors().take(1),
            Duty::Absent => path.ancestors().take(usize::MAX),
        });
        let known = around.map(|path| path.as_os_str().to_owned()).collect();
        Ok(Some(Self { names, known, root: open_root()?, watches: None, next_look: None }))
    }

    /// Watches every directory that holds a protected name, and protects what has changed until now.
    /// Where the kernel gives no watch that is due again after a while.
    pub(crate) fn watch(&mut self) {
        let began = Instant::now();
        let is_due = self.next_look.map_or(self.watches.is_none(), |next| next <= began);
        if !is_due {
            return;
        }
        self.next_look = None;
        if self.watches.is_none() {
            let flags = inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK;
            let events = inotify::init(flags).ok();
            self.watches = events.map(|events| Watches { events, folders: HashMap::new() });
        }
        self.watch_below(Path::new("/"));
        self.protect(Path::new("/"));
        if self.watches.is_none() || self.next_look.is_some() {
            let took = began.elapsed();
            self.next_look = Some(began + took + Self::INTERVAL.max(took * Self::REST));
        }
    }

    /// The time until [`Self::watch`] is due again, where it is.
    pub(crate) fn patience(&self) -> Option<Duration> {
        self.next_look.map(|next| next.saturating_duration_since(Instant::now()))
    }

    /// Readable when something happened to a name.
    pub(crate) fn events(&self) -> Option<BorrowedFd<'_>> {
        self.watches.as_ref().map(|watches| watches.events.as_fd())
    }

    /// Protects what the kernel told of.
    pub(crate) fn look(&mut self) {
        let Some(watches) = &self.watches else { return };
        let mut changed = BTreeSet::new();
        let mut space = [MaybeUninit::uninit(); 64 * 1024];
        let mut reader = inotify::Reader::new(&watches.events, &mut space);
        while let Ok(event) = reader.next() {
            if event.events().contains(inotify::ReadFlags::QUEUE_OVERFLOW) {
                changed.insert(PathBuf::from("/"));
                break;
            }
            let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
            if let (Some(folder), Some(name)) = (watches.folders.get(&event.wd()), name) {
                changed.insert(folder.join(name));
            }
        }
        for path in changed {
            if path.parent().is_none() || self.known.contains(path.as_os_str()) {
                self.protect(&path);
            }
        }
    }

    /// Puts aside what stands under the names that must not exist. No process is left to make it again.
    pub(crate) fn finish(&self) {
        let absent = self.names.iter().filter(|(_, duty)| matches!(duty, Duty::Absent));
        absent.for_each(|(name, _)| self.put_aside(name));
    }

    /// Protects a name and those below it again, where they have lost it.
    fn protect(&mut self, path: &Path) {
        let below = self.names.iter().filter(|(name, _)| is_within(name, path));
        let below: Vec<(PathBuf, Duty)> = below.cloned().collect();
        let mut is_new = false;
        for (name, duty) in below {
            match duty {
                Duty::Absent => {
                    is_new |= name != path;
                    self.put_aside(&name);
                }
                Duty::Hold(place) if !self.is_held(&name) => {
                    ignore_error(
                        attach_inside(&self.root, &name, place, MountDepth::All, None),
                        "one that cannot be mounted on has gone again; the next event tells",
                    );
                    is_new = true;
                }
                Duty::Hold(_) => {}
            }
        }
        if is_new {
            self.watch_below(path);
        }
    }

    /// Tells whether a mount stands on the name: then it is another one than its directory's.
    fn is_held(&self, path: &Path) -> bool {
        let mount = |path: &Path| {
            let file = open_beneath(&self.root, path.strip_prefix("/").unwrap_or(path))?;
            let found = rustix::fs::statx(&file, "", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID)?;
            Ok::<u64, Errno>(found.stx_mnt_id)
        };
        match (mount(path), path.parent().map(mount)) {
            (Ok(own), Some(Ok(above))) => own != above,
            // A name that is missing needs no mount.
            _ => true,
        }
    }

    /// Renames what a command made of a name that must not exist, or a link that would lead to it; nothing is lost.
    fn put_aside(&self, path: &Path) {
        for place in path.ancestors() {
            let (Some(folder), Some(name)) = (place.parent(), place.file_name()) else { return };
            match open_beneath(&self.root, folder.strip_prefix("/").unwrap_or(folder)) {
                Ok(folder) if is_link(&folder) => {}
                Ok(folder) => return rename_aside(&folder, name),
                // There was none on the way when the rules were made.
                Err(Errno::LOOP) => {}
                Err(_) => return,
            }
        }
    }

    fn watch_below(&mut self, path: &Path) {
        let Some(watches) = &mut self.watches else { return };
        let below = self.names.iter().filter(|(name, _)| is_within(name, path));
        let folders = below.filter_map(|(name, duty)| match duty {
            Duty::Hold(_) => name.parent(),
            // Where its directory is missing too, the next one that is there tells when it comes.
            Duty::Absent => name.ancestors().skip(1).find(|folder| {
                open_beneath(&self.root, folder.strip_prefix("/").unwrap_or(folder)).is_ok()
            }),
        });
        let folders: HashSet<&OsStr> = folders.map(Path::as_os_str).collect();
        let kinds = inotify::WatchFlags::CREATE
            | inotify::WatchFlags::MOVED_TO
            | inotify::WatchFlags::ONLYDIR;
        for folder in folders.into_iter().map(Path::new) {
            let Ok(open) = open_beneath(&self.root, folder.strip_prefix("/").unwrap_or(folder))
            else {
                continue;
            };
            let name = format!("/proc/self/fd/{}", open.as_raw_fd());
            match inotify::add_watch(&watches.events, name, kinds) {
                Ok(number) => drop(watches.folders.insert(number, folder.to_owned())),
                Err(_) => self.next_look = Some(Instant::now()),
            }
        }
    }
}
