//! Names that must not come into being while a command runs.
//!
//! A mount needs something to be mounted on. Where a kept name is missing, an empty one stands in
//! its place meanwhile, and is removed by whoever made it.

use std::path::PathBuf;

use crate::confine::{Existing, Walls};

#[derive(Debug, Default)]
pub(crate) struct Placeholders {
    made: Vec<(PathBuf, Existing)>,
}

impl Placeholders {
    pub(crate) fn make(walls: &Walls) -> std::io::Result<Self> {
        let mut all = Self::default();
        for kept in &walls.kept {
            let made = match kept.now {
                Existing::Present => continue,
                Existing::MissingDirectory => std::fs::create_dir(&kept.path),
                Existing::MissingFile => std::fs::File::create_new(&kept.path).map(drop),
            };
            match made {
                Ok(()) => all.made.push((kept.path.clone(), kept.now)),
                // Somebody was faster; what is there now is kept as it is.
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Ok(all)
    }
}

impl Drop for Placeholders {
    fn drop(&mut self) {
        for (path, kind) in &self.made {
            // One that is no longer empty is somebody's.
            match kind {
                Existing::MissingDirectory => std::fs::remove_dir(path).unwrap_or_default(),
                Existing::MissingFile if std::fs::metadata(path).is_ok_and(|m| m.len() == 0) => {
                    std::fs::remove_file(path).unwrap_or_default();
                }
                Existing::MissingFile | Existing::Present => {}
            }
        }
    }
}
