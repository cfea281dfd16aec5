//! The layers of tools' commands in the state directory: made, kept with the old versions for undo, set aside.
//!
//! Law: a layer here belongs to the call whose key its name begins with, and the journal says what became of it.
//! What waits for a person's decision is moved to the held layers, so it is never in both places.

use std::ffi::{OsStr, OsString};
use std::io::{Error, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use jm_files::layer::{remove_layer, stored_bytes};
use jm_system::folder::readable_entries;
use jm_system::state::StateDir;
use jm_types::ignore_error;

use super::held::{HeldDescription, HeldLayer, HeldLayers, HeldStage, LOCK, read_description};

const DIRECTORY: &str = "layers";
/// Commands that one call may start on layers.
const MOST_OF_A_CALL: usize = 10_000;

/// The layers of commands of this state directory.
#[derive(Debug)]
pub struct CommandLayers {
    directory: StateDir,
    held: HeldLayers,
}

impl CommandLayers {
    /// Opens the layers of a state directory.
    pub fn open(state: &StateDir) -> std::io::Result<Self> {
        let held = HeldLayers::open(state)?;
        Ok(Self { directory: state.subdirectory(DIRECTORY)?, held })
    }

    /// Their directory.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The layers that were set aside.
    pub fn held(&self) -> &HeldLayers {
        &self.held
    }

    /// Makes the layer of a call's next command.
    pub fn begin(
        &self,
        root: &Path,
        command: &[OsString],
        call: &str,
    ) -> std::io::Result<HeldLayer> {
        for number in 1..=MOST_OF_A_CALL {
            let id = format!("{call}.{number}");
            let path = self.path(&id)?;
            match std::fs::DirBuilder::new().mode(0o700).create(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                made => {
                    made?;
                    return HeldLayer::create(
                        (id, StateDir::open(&path)?),
                        root,
                        command,
                        Some(call),
                    );
                }
            }
        }
        Err(Error::other("the call has started too many commands"))
    }

    /// The same with a layer in which an earlier command changed nothing; `None` where it is of no use, and then it is
    /// gone.
    pub fn begin_again(
        &self,
        spare: HeldLayer,
        root: &Path,
        command: &[OsString],
        call: &str,
    ) -> Option<HeldLayer> {
        let old = spare.upper().parent().map(Path::to_owned);
        let id = format!("{call}.1");
        let is_same_root = spare.description().root == root;
        let begun = match self.path(&id) {
            Ok(path) if is_same_root => spare.begin_again((id, &path), command, call),
            Ok(_) => Ok(None),
            Err(error) => Err(error),
        };
        match begun {
            Ok(Some(layer)) => Some(layer),
            Ok(None) | Err(_) => {
                let removed = old.map(|old| remove_layer(&old)).transpose();
                ignore_error(removed, "an empty layer that stays is collected later");
                None
            }
        }
    }

    /// Makes a layer ready for another command where nothing is in it; otherwise removes it.
    pub fn recycle(layer: HeldLayer) -> Option<HeldLayer> {
        if layer.is_untouched() && layer.renew().is_ok() && layer.forget_description().is_ok() {
            return Some(layer);
        }
        ignore_error(layer.remove(), "an empty layer that stays is collected later");
        None
    }

    /// Takes a layer by its name.
    pub fn take(&self, id: &str) -> std::io::Result<HeldLayer> {
        let (home, description) = read_description(&self.existing(id)?)?;
        HeldLayer::open(id, home, description)
    }

    /// The facts of a layer.
    pub fn description(&self, id: &str) -> std::io::Result<HeldDescription> {
        Ok(read_description(&self.existing(id)?)?.1)
    }

    /// The names of a call's layers, in the order in which they were made.
    pub fn of_call(&self, call: &str) -> Vec<String> {
        let mut all: Vec<(usize, String)> = self
            .names()
            .filter_map(|name| {
                let (key, number) = name.rsplit_once('.')?;
                let number = number.parse().ok().filter(|_| key == call)?;
                Some((number, name))
            })
            .collect();
        all.sort();
        all.into_iter().map(|(_, name)| name).collect()
    }

    /// The names of all layers.
    pub fn names(&self) -> impl Iterator<Item = String> {
        readable_entries(self.directory.path())
            .filter_map(|entry| entry.file_name().into_string().ok())
    }

    /// The bytes on disk of the versions that a layer holds now.
    pub fn stored_bytes(&self, id: &str) -> std::io::Result<u64> {
        Ok(stored_bytes(&self.existing(id)?)?)
    }

    /// Leaves a layer to a person's decision, everything in it on the disk. It is among the held ones, and ours until it
    /// is dropped.
    pub fn set_aside(&self, mut layer: HeldLayer) -> std::io::Result<HeldLayer> {
        // After a restart it cannot be made better than it is.
        if !layer.is_lost() {
            layer.set_aside()?;
        }
        let (id, place) = self.held.fresh()?;
        std::fs::remove_dir(place.path())?;
        layer.move_to(&id, place.path())?;
        Ok(layer)
    }

    /// Gives a held layer to a call that keeps it, everything in it on the disk.
    pub fn reclaim(&self, mut layer: HeldLayer, call: &str) -> std::io::Result<HeldLayer> {
        if layer.description().stage == HeldStage::Running {
            layer.set_aside()?;
        }
        for number in 1..=MOST_OF_A_CALL {
            let name = format!("{call}.{number}");
            match layer.move_to(&name, &self.path(&name)?) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                moved => return moved.map(|()| layer),
            }
        }
        Err(Error::other("the call has started too many commands"))
    }

    /// Removes a layer that nothing needs any more; `false` where another process works with it.
    pub fn forget(&self, id: &str) -> std::io::Result<bool> {
        let path = self.existing(id)?;
        let lock = StateDir::open(&path)?.lock(LOCK)?;
        if lock.is_none() {
            return Ok(false);
        }
        remove_layer(&path)?;
        Ok(true)
    }

    fn existing(&self, id: &str) -> std::io::Result<PathBuf> {
        let path = self.path(id)?;
        if path.is_dir() {
            Ok(path)
        } else {
            Err(Error::new(ErrorKind::NotFound, "its layer is gone"))
        }
    }

    fn path(&self, id: &str) -> std::io::Result<PathBuf> {
        let is_plain = !id.starts_with('.') && Path::new(id).file_name() == Some(OsStr::new(id));
        match is_plain {
            true => Ok(self.directory.path().join(id)),
            false => Err(Error::new(ErrorKind::InvalidInput, "not the name of a layer")),
        }
    }
}
