//! Names that must not come into being while a command runs.
//!
//! A mount needs something to be mounted on. Where a kept name is missing, an empty one stands in
//! its place meanwhile. Several commands may need the same one at a time: each holds a shared lock on
//! it, and whoever is the last removes it.

use std::fs::{DirBuilder, File};
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use jm_files::placeholder::{DIRECTORY_MODE, FILE_MODE, is_marked, is_placeholder};

use jm_types::ignore_error;

use crate::contract::confinement_rules::{ConfinementRules, KeptPresence};

#[derive(Debug, Default)]
pub(crate) struct Placeholders {
    held: Vec<Placeholder>,
}

#[derive(Debug)]
struct Placeholder {
    path: PathBuf,
    kind: KeptPresence,
    /// Locked as long as it is needed.
    file: File,
}

impl Placeholders {
    pub(crate) fn make(rules: &ConfinementRules) -> Result<Self> {
        let mut all = Self::default();
        for kept in rules.kept.iter().filter(|kept| kept.now != KeptPresence::Present) {
            all.held.extend(hold(&kept.path, kept.now)?);
        }
        Ok(all)
    }
}

/// `None` when something else was put there meanwhile: it is kept as it is. `None`
/// also where the command itself cannot make it.
fn hold(path: &Path, kind: KeptPresence) -> Result<Option<Placeholder>> {
    loop {
        match make(path, kind) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) if is_closed(path, error.kind()) => return Ok(None),
            Err(error) => {
                return Err(Error::new(error.kind(), format!("{}: {error}", path.display())));
            }
        }
        // Whoever was the last before us may remove it under our hands; then we make it again.
        // A FIFO of that name must not make us wait, and a link is not followed.
        let flags = libc::O_NONBLOCK | libc::O_NOFOLLOW;
        let file = match File::options().read(true).custom_flags(flags).open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) if error.raw_os_error() == Some(libc::ELOOP) => return Ok(None),
            file => file?,
        };
        if !is_marked(&file.metadata()?, path) {
            return Ok(None);
        }
        file.lock_shared()?;
        if path
            .symlink_metadata()
            .is_ok_and(|now| file.metadata().is_ok_and(|m| m.ino() == now.ino()))
        {
            return Ok(Some(Placeholder { path: path.to_owned(), kind, file }));
        }
    }
}

/// Tells whether no process with our rights can make anything there. An owner could first change the mode.
fn is_closed(path: &Path, why: ErrorKind) -> bool {
    let own = rustix::process::geteuid().as_raw();
    let is_others = |folder: &Path| folder.metadata().is_ok_and(|folder| folder.uid() != own);
    match why {
        ErrorKind::ReadOnlyFilesystem => true,
        ErrorKind::PermissionDenied => path.parent().is_some_and(is_others),
        _ => false,
    }
}

/// With its mode from the first moment, so that no process takes it for anything else.
fn make(path: &Path, kind: KeptPresence) -> Result<()> {
    match kind {
        KeptPresence::Present => Ok(()),
        KeptPresence::MissingDirectory => DirBuilder::new().mode(DIRECTORY_MODE).create(path),
        KeptPresence::MissingFile => {
            let made = File::options().write(true).create_new(true).mode(FILE_MODE).open(path);
            made.map(drop)
        }
    }
}

impl Drop for Placeholder {
    fn drop(&mut self) {
        // Others still need it; the last of them removes it.
        if self.file.try_lock().is_err() || !is_placeholder(&self.path) {
            return;
        }
        let removed = match self.kind {
            KeptPresence::MissingDirectory => std::fs::remove_dir(&self.path),
            KeptPresence::MissingFile => std::fs::remove_file(&self.path),
            KeptPresence::Present => Ok(()),
        };
        ignore_error(removed, "one that stays is known as a placeholder by its mode");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_one_removes_it_and_what_is_somebodys_stays() {
        for kind in [KeptPresence::MissingDirectory, KeptPresence::MissingFile] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("kept");
            let first = hold(&path, kind).unwrap();
            let second = hold(&path, kind).unwrap();
            assert!(is_placeholder(&path));
            drop(first);
            assert!(is_placeholder(&path));
            drop(second);
            assert!(!path.exists());
            std::fs::create_dir(&path).unwrap();
            assert!(hold(&path, kind).unwrap().is_none());
            assert!(path.exists());
        }
    }

    #[test]
    fn many_at_once_do_not_take_it_from_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kept");
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let held = hold(&path, KeptPresence::MissingDirectory).unwrap();
                        assert!(held.is_some() && is_placeholder(&path));
                    }
                });
            }
        });
        assert!(!path.exists());
    }
}
