//! State of a project that is kept outside it: backups of its files, notes of its sessions, whole outputs, and the
//! buffers of an editor in which it is open.
//!
//! Law: all of it is private and lies outside every project (0013). A backup is never written over, and
//! undo does not use it: it has the journal.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use jm_system::clock::{now_epoch_ms, utc_stamp};
use jm_system::folder::readable_entries;
use jm_system::state::{StateDir, read_text};
use jm_types::{Digest, ToolError, ignore_error};

use crate::editor_buffers::EditorBuffers;
use crate::sandbox::SafePath;

/// Backups that are kept of one file.
const MOST_KEPT: usize = 20;
/// Names that others may take before us.
const MOST_TRIES: u32 = 1000;

/// The name of the folder of all projects' whole outputs.
pub(crate) const OUTPUTS: &str = "command-outputs";

/// A larger note is not one of ours.
const MOST_NOTE: u64 = 16 * 1024 * 1024;

const NO_PLACE: &str = "no state directory to keep this in";
const NAME_ONE: &str = "set JM_STATE_DIR to a directory";

/// By default there is no place for anything, and nothing was ever kept.
#[derive(Debug, Clone, Default)]
pub struct ProjectState {
    folders: Option<Folders>,
    staging: Staging,
    buffers: EditorBuffers,
}

/// The choice whether a changed file is added to git's index (FJ-GIT).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Staging {
    /// Changes stay in the working tree.
    #[default]
    Off,
    /// Each changed file is added to git's index.
    On,
}

/// They are made with the first thing that is kept in them.
#[derive(Debug, Clone)]
struct Folders {
    backups: PathBuf,
    notes: PathBuf,
    outputs: PathBuf,
}

impl ProjectState {
    /// Below our state, apart from that of other projects.
    pub fn new(state: &Path, project: &Path) -> Self {
        let project = Digest::of(project.as_os_str().as_encoded_bytes()).to_string();
        let below = |name: &str| state.join(name).join(&project[..16]);
        let folders =
            Folders { backups: below("backups"), notes: below("notes"), outputs: below(OUTPUTS) };
        Self { folders: Some(folders), ..Self::default() }
    }

    /// The same, with changes staged or not.
    #[must_use]
    pub fn with_staging(self, staging: Staging) -> Self {
        Self { staging, ..self }
    }

    /// The same, with an editor whose buffers count.
    #[must_use]
    pub fn with_buffers(self, buffers: EditorBuffers) -> Self {
        Self { buffers, ..self }
    }

    /// The buffers that count; none without an editor.
    pub fn buffers(&self) -> &EditorBuffers {
        &self.buffers
    }

    /// The person's setting for this project.
    pub fn staging(&self) -> Staging {
        self.staging
    }

    /// The folder of whole outputs.
    pub(crate) fn outputs(&self) -> Option<&Path> {
        self.folders.as_ref().map(|folders| folders.outputs.as_path())
    }

    /// Reads what a session wrote down under a name.
    pub fn note(&self, session: &str, name: &str) -> Result<Option<String>, ToolError> {
        let Some(Folders { notes, .. }) = &self.folders else { return Ok(None) };
        let file = notes.join(note_name(session, name));
        read_text(&file, MOST_NOTE).map_err(|error| ToolError::io(file, error))
    }

    /// Writes a note of a session into the project's state.
    pub fn write_note(&self, session: &str, name: &str, text: &str) -> Result<(), ToolError> {
        let Some(Folders { notes, .. }) = &self.folders else {
            return Err(ToolError::io(name, NO_PLACE).hint(NAME_ONE));
        };
        let folder = StateDir::open(notes);
        let written =
            folder.and_then(|folder| folder.write(&note_name(session, name), text.as_bytes()));
        written.map_err(|error| ToolError::io(notes, error))
    }

    /// Keeps a copy of a file's content and says where it is.
    pub fn keep_backup(&self, path: &SafePath, content: &[u8]) -> Result<PathBuf, ToolError> {
        let Some(Folders { backups, .. }) = &self.folders else {
            return Err(ToolError::io(path.asked(), NO_PLACE).hint(NAME_ONE));
        };
        let kept = try_keep(backups, path.relative(), content);
        kept.map_err(|error| {
            ToolError::io(path.asked(), format!("cannot make a backup: {error}"))
                .hint("nothing was changed; check the state directory and its disk")
        })
    }
}

fn try_keep(backups: &Path, relative: &Path, content: &[u8]) -> io::Result<PathBuf> {
    let place = Digest::of(relative.as_os_str().as_encoded_bytes()).to_string();
    let name = relative.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let start: String = name.chars().take(80).collect();
    let folder = StateDir::open(&backups.join(format!("{start}-{}", &place[..8])))?;
    let (mut file, path) = create_numbered(&folder, &utc_stamp(now_epoch_ms() / 1000), &start)?;
    file.write_all(content)?;
    file.sync_all()?;
    File::open(folder.path())?.sync_all()?;
    forget_old(folder.path());
    Ok(path)
}

/// A session's id is our own, but its spelling may come from a flag.
fn note_name(session: &str, name: &str) -> String {
    format!("{}.{name}.json", &Digest::of(session.as_bytes()).to_string()[..16])
}

/// A new file: the time, and a number that is higher than any before it within the second.
pub(crate) fn create_numbered(
    folder: &StateDir,
    time: &str,
    name: &str,
) -> io::Result<(File, PathBuf)> {
    let of_this_second = |path: PathBuf| {
        let name = path.file_name()?.to_str()?.strip_prefix(time)?.strip_prefix('.')?.to_owned();
        name.split('.').next()?.parse::<u32>().ok()
    };
    let last = paths(folder.path()).into_iter().filter_map(of_this_second).max().unwrap_or(0);
    for number in last + 1..last + MOST_TRIES {
        let path = folder.path().join(format!("{time}.{number:04}.{name}"));
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            opened => return opened.map(|file| (file, path)),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

fn paths(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = readable_entries(folder).map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// Names sort by time. One that cannot be removed only takes space.
pub(crate) fn forget_old(folder: &Path) {
    let paths = paths(folder);
    let old = paths.len().saturating_sub(MOST_KEPT);
    for path in &paths[..old] {
        ignore_error(std::fs::remove_file(path), "one that stays only takes space");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FJ-BACKUP: many in one second all exist, the newest twenty stay, nobody else can read them.
    #[test]
    fn backups_of_one_second_do_not_collide() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let kept: Vec<PathBuf> = (0..25_u8)
            .map(|number| try_keep(folder.path(), Path::new("a/f.el"), &[number]).unwrap())
            .collect();
        let there: Vec<&PathBuf> = kept.iter().filter(|path| path.exists()).collect();
        assert_eq!(there.len(), MOST_KEPT);
        assert_eq!(std::fs::read(kept.last().unwrap()).unwrap(), [24]);
        assert_eq!(std::fs::metadata(there[0]).unwrap().permissions().mode() & 0o777, 0o600);
        let other = try_keep(folder.path(), Path::new("b/f.el"), b"x").unwrap();
        assert_ne!(other.parent(), kept[0].parent());
    }
}
