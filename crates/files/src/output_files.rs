//! Whole outputs of commands as files that a tool may read, where its answer had room for the end only (FL-EXEC).
//!
//! Law: they are private and lie outside every project. Only a file directly in the project's own folder is opened,
//! and no link is followed. The newest stay.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use jm_system::clock::{now_epoch_ms, utc_stamp};
use jm_system::state::StateDir;
use jm_types::ToolError;
use rustix::fs::OFlags;

use crate::project_state::{OUTPUTS, ProjectState, create_numbered, forget_old};

/// Tells whether a path is written like that of a kept output.
pub fn names_kept_output(path: &str) -> bool {
    let path = Path::new(path);
    let folder = path.parent().and_then(Path::parent).and_then(Path::file_name);
    path.is_absolute() && folder.is_some_and(|folder| folder == OUTPUTS)
}

impl ProjectState {
    /// Keeps what `write` writes; `None` where it cannot be kept.
    pub fn keep_output(
        &self,
        call: &str,
        write: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> Option<PathBuf> {
        let kept = || {
            let folder = StateDir::open(self.outputs()?).ok()?;
            let name: String = call.chars().filter(|c| *c != '/').take(80).collect();
            let stamp = utc_stamp(now_epoch_ms() / 1000);
            let (mut file, path) = create_numbered(&folder, &stamp, &format!("{name}.txt")).ok()?;
            if write(&mut file).is_err() {
                std::fs::remove_file(&path).unwrap_or_default();
                return None;
            }
            forget_old(folder.path());
            Some(path)
        };
        kept()
    }

    /// Opens an output of this project by the path that was told.
    pub fn open_output(&self, path: &str) -> Result<File, ToolError> {
        let asked = Path::new(path);
        if self.outputs().is_none_or(|folder| asked.parent() != Some(folder)) {
            return Err(ToolError::outside(asked));
        }
        OpenOptions::new()
            .read(true)
            .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed())
            .open(asked)
            .map_err(|error| ToolError::io(asked, error))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn only_what_was_kept_is_opened() {
        let state = tempfile::tempdir().unwrap();
        let project = ProjectState::new(state.path(), Path::new("/p"));
        let path = project.keep_output("s/1", |file| file.write_all(b"all")).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let told = path.to_str().unwrap();
        assert!(names_kept_output(told) && told.ends_with(".s1.txt"), "{told}");
        let mut text = String::new();
        project.open_output(told).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "all");
        let folder = path.parent().unwrap();
        std::os::unix::fs::symlink("/etc/passwd", folder.join("link.txt")).unwrap();
        let other = ProjectState::new(state.path(), Path::new("/other"));
        assert!(other.open_output(told).is_err());
        for name in ["link.txt", "../x.txt", "none.txt"] {
            let path = folder.join(name);
            assert!(project.open_output(path.to_str().unwrap()).is_err(), "{name}");
        }
        assert!(ProjectState::default().keep_output("s-1", |_| Ok(())).is_none());
        assert!(ProjectState::default().open_output(told).is_err());
        assert!(!names_kept_output("command-outputs/a/b") && !names_kept_output("/a/b"));
    }
}
