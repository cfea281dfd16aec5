//! Directories that a commit makes, after it is on record that it will.

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::PathBuf;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{self, AtFlags, Mode, OFlags};
use rustix::io::{self, Errno};

use super::stage::{Place, Staged};

/// Directories made so far, outermost first.
#[derive(Default)]
pub(super) struct Made {
    directories: Vec<OneMade>,
}

struct OneMade {
    parent: OwnedFd,
    name: OsString,
    directory: OwnedFd,
}

/// The paths that will be made for these files, each once, outermost first.
pub(super) fn planned(places: &[Place], staged: &[Staged]) -> Vec<PathBuf> {
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

impl Made {
    /// Makes what is missing on the way to a file, and opens the last of it. A directory that
    /// another process made meanwhile is as good.
    pub(super) fn way_to(&mut self, place: &Place, file: &Staged) -> io::Result<Option<OwnedFd>> {
        let mut inner: Option<OwnedFd> = None;
        for name in &file.missing {
            let parent = inner.as_ref().map_or(place.fd(), AsFd::as_fd);
            inner = Some(self.step(parent, name)?);
        }
        Ok(inner)
    }

    fn step(&mut self, parent: BorrowedFd<'_>, name: &OsString) -> io::Result<OwnedFd> {
        let made = match fs::mkdirat(parent, &**name, Mode::from_raw_mode(0o777)) {
            Ok(()) => true,
            Err(Errno::EXIST) => false,
            Err(error) => return Err(error),
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = fs::openat(parent, &**name, flags, Mode::empty()).and_then(|directory| {
            let both = (io::dup(parent)?, io::dup(&directory)?);
            Ok((directory, both))
        });
        match opened {
            Ok((directory, (parent, copy))) => {
                if made {
                    let name = name.clone();
                    self.directories.push(OneMade { parent, name, directory: copy });
                }
                Ok(directory)
            }
            Err(error) => {
                if made {
                    fs::unlinkat(parent, &**name, AtFlags::REMOVEDIR).unwrap_or_default();
                }
                Err(error)
            }
        }
    }

    /// The new directories, and their names in their parents, are on disk.
    pub(super) fn sync(&self) -> io::Result<()> {
        for made in &self.directories {
            fs::fsync(&made.directory)?;
            fs::fsync(&made.parent)?;
        }
        Ok(())
    }

    /// Removes what was made, as far as it is empty.
    pub(super) fn remove(&self) {
        for made in self.directories.iter().rev() {
            if fs::unlinkat(&made.parent, &*made.name, AtFlags::REMOVEDIR).is_err() {
                return;
            }
        }
    }
}
