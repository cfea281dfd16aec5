//! Confinement rules: what a command may touch, as plain data.
//!
//! Law: they are computed before the command starts and handed over whole. The back end that enforces them
//! (namespaces, bubblewrap, Landlock) decides nothing.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

pub use jm_types::Network;
use jm_types::defaults;
use serde::{Deserialize, Serialize};

use super::within::is_within;

/// The back end that confines a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Backend {
    /// User, mount, process, network and IPC namespaces of our own, Landlock and seccomp inside.
    Namespaces,
    /// The same confinement built by the system's `bwrap`, Landlock and seccomp inside.
    Bwrap,
    /// Landlock and seccomp alone.
    Landlock,
    /// Supervised, not confined.
    None,
}

impl Backend {
    /// The strongest first.
    pub const ALL: [Self; 4] = [Self::Namespaces, Self::Bwrap, Self::Landlock, Self::None];

    /// The name in configuration and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Namespaces => "namespaces",
            Self::Bwrap => "bwrap",
            Self::Landlock => "landlock",
            Self::None => "none",
        }
    }

    /// Tells whether the command sees a file tree of its own.
    pub fn has_own_tree(self) -> bool {
        matches!(self, Self::Namespaces | Self::Bwrap)
    }
}

/// The access of a command to the files that it sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Reads the workspace and the system's programs. Nothing it writes outlives it, nothing of the
    /// workspace can be executed, and it reaches no other process: the rules of a command that runs unasked.
    ReadsOnly,
    /// Writes the workspace and what was granted besides.
    #[default]
    Full,
}

/// Limits of the resources that one command may use up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resources {
    /// Processes at the same time.
    pub processes: u64,
    /// Of each process: what it may allocate.
    pub memory_bytes: u64,
    /// Of each file it writes.
    pub file_bytes: u64,
}

impl Default for Resources {
    fn default() -> Self {
        Self {
            processes: defaults::COMMAND_PROCESSES,
            memory_bytes: defaults::COMMAND_MEMORY_BYTES,
            file_bytes: defaults::COMMAND_FILE_BYTES,
        }
    }
}

/// A name inside a writable directory that stays as it is, also when it does not exist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptName {
    /// Absolute.
    #[serde(with = "path")]
    pub path: PathBuf,
    /// Its state when the plan was made.
    pub now: KeptPresence,
}

/// The state of a kept name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeptPresence {
    /// It is there.
    Present,
    /// Must not come into being: an empty one stands in its place meanwhile.
    MissingFile,
    /// Must not come into being: an empty directory stands in its place meanwhile.
    MissingDirectory,
}

/// The file that had a name at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileIdentity {
    /// Absolute.
    #[serde(with = "path")]
    pub path: PathBuf,
    /// The device of the file system.
    pub device: u64,
    /// The inode's number.
    pub inode: u64,
}

impl FileIdentity {
    /// The file that has a name now; a link is the file itself.
    pub(crate) fn of(path: PathBuf) -> std::io::Result<Self> {
        let found = path.symlink_metadata()?;
        Ok(Self { path, device: found.dev(), inode: found.ino() })
    }
}

/// Everything that a launcher enforces for one command, as plain data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfinementRules {
    /// The mechanism.
    pub backend: Backend,
    /// Full, or reading only.
    pub access: Access,
    /// The hosts that it may reach.
    pub network: Network,
    /// Directories it may write: the workspace roots, and what was granted. With [`Access::ReadsOnly`]
    /// these are only read.
    #[serde(with = "paths")]
    pub writable: Vec<PathBuf>,
    /// Paths it may read and run besides: the system, toolchains.
    #[serde(with = "paths")]
    pub readable: Vec<PathBuf>,
    /// The person's home, of which nothing but the above is seen.
    #[serde(with = "paths")]
    pub homes: Vec<PathBuf>,
    /// Names inside the above that cannot be changed.
    pub kept: Vec<KeptName>,
    /// Names inside the above whose content is not seen.
    #[serde(with = "paths")]
    pub hidden: Vec<PathBuf>,
    /// Names that must not come into being, and for which nothing may stand in: what a command
    /// makes of them is renamed at once.
    #[serde(with = "paths")]
    pub absent: Vec<PathBuf>,
    /// Kept and hidden names of the workspace as they were when these rules were computed. A start
    /// that finds another file there fails.
    pub identities: Vec<FileIdentity>,
    /// Bounds of processes, memory and files.
    pub resources: Resources,
    /// The layer on which the command sees a workspace root: nothing that it changes there counts
    /// until it is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layer: Option<LayerPlace>,
    /// Its loopback is that of the session, where the session has one, and not one of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shares_loopback: bool,
}

/// The directories of a layer. Each is opened by its name where it is mounted, and must be the one
/// that was meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerPlace {
    /// The workspace root, which is the layer's lower directory.
    pub root: FileIdentity,
    /// The directory that takes the changes.
    pub upper: FileIdentity,
    /// The directory that overlayfs works in.
    pub work: FileIdentity,
    /// Directories below the root that the command changes directly.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub direct: Vec<FileIdentity>,
}

impl LayerPlace {
    /// The place of a layer that is yet to be made in a directory, as far as it is known.
    pub(crate) fn expected(root: PathBuf, layers: &Path) -> std::io::Result<Self> {
        let unknown = |name: &str| {
            let path = layers.join("next").join(name);
            FileIdentity { path, device: 0, inode: 0 }
        };
        let (upper, work) = (unknown("upper"), unknown("work"));
        Ok(Self { root: FileIdentity::of(root)?, upper, work, direct: Vec::new() })
    }

    /// The directory that holds the layer's own, and those of others.
    pub(crate) fn home(&self) -> Option<&Path> {
        self.upper.path.parent()?.parent()
    }

    /// Tells whether a path lies in a directory that the command changes directly, or is one.
    pub(crate) fn is_direct(&self, path: &Path) -> bool {
        self.direct.iter().any(|direct| is_within(path, &direct.path))
    }
}

impl ConfinementRules {
    /// The same rules on a layer. Protected names need no mounts there, because what becomes of them
    /// is judged when the layer is kept; those of direct directories do.
    pub fn on_layer(mut self, layer: LayerPlace) -> Self {
        self.kept.retain(|kept| layer.is_direct(&kept.path));
        self.absent.retain(|path| layer.is_direct(path));
        let hidden: HashSet<&OsStr> = self.hidden.iter().map(|path| path.as_os_str()).collect();
        self.identities
            .retain(|one| hidden.contains(one.path.as_os_str()) || layer.is_direct(&one.path));
        self.layer = Some(layer);
        self
    }

    /// Names that make something run later, there or not.
    pub fn protected(&self) -> impl Iterator<Item = &PathBuf> {
        self.kept.iter().map(|kept| &kept.path).chain(&self.absent)
    }

    /// The same rules in a network of its own.
    #[must_use]
    pub fn alone(self) -> Self {
        Self { shares_loopback: false, ..self }
    }

    /// The same rules without the names of the workspace, as far as a launcher can prepare for them: `None` for a
    /// command that is not on a layer or shares its network.
    pub(crate) fn forecast(&self) -> Option<Self> {
        let can_be_made_ahead = self.backend == Backend::Namespaces
            && self.layer.as_ref().is_some_and(|layer| layer.direct.is_empty())
            && self.network.is_own()
            && !self.shares_loopback;
        let is_outside = |path: &&PathBuf| !self.is_on_layer(path);
        can_be_made_ahead.then(|| Self {
            kept: Vec::new(),
            absent: Vec::new(),
            identities: Vec::new(),
            hidden: self.hidden.iter().filter(is_outside).cloned().collect(),
            ..self.clone()
        })
    }

    /// Tells whether the protected names are what they were when these rules were computed.
    pub(crate) fn is_as_planned(&self) -> bool {
        let is_same = |one: &FileIdentity| {
            let found = one.path.symlink_metadata();
            found.is_ok_and(|found| (found.dev(), found.ino()) == (one.device, one.inode))
        };
        let missing = self.kept.iter().filter(|kept| kept.now != KeptPresence::Present);
        let mut missing = missing.map(|kept| &kept.path).chain(&self.absent);
        self.identities.iter().all(is_same) && missing.all(|path| path.symlink_metadata().is_err())
    }

    /// Tells whether the command sees a path below the root through its layer.
    pub(crate) fn is_on_layer(&self, path: &Path) -> bool {
        self.layer.as_ref().is_some_and(|layer| {
            let root = &*layer.root.path;
            path != root && is_within(path, root) && !layer.is_direct(path)
        })
    }

    /// The directories below the root of a layer that the command changes directly.
    pub(crate) fn direct(&self) -> &[FileIdentity] {
        self.layer.as_ref().map_or(&[], |layer| &layer.direct)
    }
}

/// Paths are bytes; JSON has only text.
mod paths {
    use std::ffi::OsString;
    use std::path::PathBuf;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(paths: &[PathBuf], to: S) -> Result<S::Ok, S::Error> {
        paths.iter().map(|path| path.as_os_str()).collect::<Vec<_>>().serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<PathBuf>, D::Error> {
        let names = Vec::<OsString>::deserialize(from)?;
        Ok(names.into_iter().map(PathBuf::from).collect())
    }
}

mod path {
    use std::ffi::OsString;
    use std::path::{Path, PathBuf};

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
        path.as_os_str().serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
        OsString::deserialize(from).map(PathBuf::from)
    }
}
