//! Directories that a commit makes, after it is on record that it will.
//!
//! Law: each is held open once, however many files go to it.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::path::PathBuf;

use jm_types::ignore_error;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{self, AtFlags, Mode, OFlags};
use rustix::io::{self, Errno};

use super::stage::{StagedFile, StagingPlace};

/// The directories on the way to new files, outermost first.
#[derive(Default)]
pub(super) struct MadeDirectories {
    directories: Vec<OneMade>,
    /// By place, and the names that lead there from it.
    known: HashMap<(usize, Vec<OsString>), usize>,
}

struct OneMade {
    place: usize,
    /// Its parent among the directories; otherwise that is the place.
    parent: Option<usize>,
    name: OsString,
    directory: OwnedFd,
    /// Another process made it meanwhile, which is as good.
    is_foreign: bool,
}

/// The paths that will be made for these files, each once, outermost first.
pub(super) fn planned(places: &[StagingPlace], staged: &[StagedFile]) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    let mut known = HashSet::new();
    for file in staged.iter().filter(|file| file.after.is_some()) {
        let mut path = places[file.place].path.clone();
        for name in &file.missing {
            path.push(name);
            if known.insert(path.clone()) {
                paths.push(path.clone());
            }
        }
    }
    paths
}

impl MadeDirectories {
    /// Makes what is missing on the way to a file that comes.
    pub(super) fn make_way(
        &mut self,
        places: &[StagingPlace],
        file: &StagedFile,
    ) -> io::Result<()> {
        if file.after.is_none() {
            return Ok(());
        }
        let mut parent = None;
        for depth in 1..=file.missing.len() {
            let key = (file.place, file.missing[..depth].to_vec());
            parent = Some(match self.known.get(&key) {
                Some(known) => *known,
                None => {
                    let made = self.step(places, (file.place, parent), &file.missing[depth - 1])?;
                    self.directories.push(made);
                    self.known.insert(key, self.directories.len() - 1);
                    self.directories.len() - 1
                }
            });
        }
        Ok(())
    }

    fn step(
        &self,
        places: &[StagingPlace],
        (place, parent): (usize, Option<usize>),
        name: &OsString,
    ) -> io::Result<OneMade> {
        let at = self.directory(places, place, parent);
        let is_foreign = match fs::mkdirat(at, &**name, Mode::from_raw_mode(0o777)) {
            Ok(()) => false,
            Err(Errno::EXIST) => true,
            Err(error) => return Err(error),
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match fs::openat(at, &**name, flags, Mode::empty()) {
            Ok(directory) => {
                Ok(OneMade { place, parent, name: name.clone(), directory, is_foreign })
            }
            Err(error) => {
                if !is_foreign {
                    let removed = fs::unlinkat(at, &**name, AtFlags::REMOVEDIR);
                    ignore_error(removed, "an empty directory that stays does no harm");
                }
                Err(error)
            }
        }
    }

    fn directory<'a>(
        &'a self,
        places: &'a [StagingPlace],
        place: usize,
        index: Option<usize>,
    ) -> BorrowedFd<'a> {
        index.map_or_else(|| places[place].fd(), |index| self.directories[index].directory.as_fd())
    }

    /// The directory that a file is in, once the way to it is made.
    pub(super) fn target<'a>(
        &'a self,
        places: &'a [StagingPlace],
        file: &StagedFile,
    ) -> BorrowedFd<'a> {
        let index = if file.missing.is_empty() {
            None
        } else {
            self.known.get(&(file.place, file.missing.clone())).copied()
        };
        self.directory(places, file.place, index)
    }

    /// The names in the new directories are on disk; their own are, when the places are.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.directories.iter().try_for_each(|made| fs::fsync(&made.directory))
    }

    /// Removes what was made, as far as it is empty.
    pub(super) fn remove(&self, places: &[StagingPlace]) {
        for made in self.directories.iter().rev().filter(|made| !made.is_foreign) {
            let parent = self.directory(places, made.place, made.parent);
            ignore_error(
                fs::unlinkat(parent, &*made.name, AtFlags::REMOVEDIR),
                "one that holds somebody's file stays, and so do those around it",
            );
        }
    }
}
