//! The layers of commands in the state directory: made, described, set aside, kept or dropped.
//!
//! Law: a layer belongs to a process only while its lock is held. It is described before its command runs and
//! its steps are on record before the first of them, so whatever dies, the next process knows what it
//! finds and can complete it or take it back.

use std::ffi::OsString;
use std::io::{Error, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jm_files::layer::{
    KeepError, KeepLog, Layer, LayerReport, LayerStep, Selection, StepState, UPPER, WORK,
    remove_layer, renew_work,
};
use jm_system::clock::now_epoch_ms;
use jm_system::folder::readable_entries;
use jm_system::identity::ProcessIdentity;
use jm_system::small_file::{Durability, replace_small_file};
use jm_system::state::{StateDir, StateLock, fresh_id};
use rustix::fs::{CWD, RenameFlags};
use serde::{Deserialize, Serialize};

use super::reaper;
use crate::contract::confinement_rules::{FileIdentity, LayerPlace};

const DIRECTORY: &str = "held";
const DESCRIPTION: &str = "layer.json";
const STEPS: &str = "steps.json";
pub(super) const LOCK: &str = "layer";
/// Long enough to be one of its kind, short enough to be typed.
const ID_LETTERS: usize = 6;
/// A layer has its description a moment after its directory.
const UNDESCRIBED_PATIENCE: Duration = Duration::from_secs(3600);
const MOST_DESCRIPTION: u64 = 4 * 1024 * 1024;
const MOST_STEPS: u64 = 4 * 1024 * 1024 * 1024;

/// The stage of a layer that nobody has decided about yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeldStage {
    /// Its command had not ended when this was written.
    Running,
    /// The command has ended, and everything it wrote is on the disk.
    SetAside,
}

/// The description of a layer, beside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldDescription {
    /// The words of the command, without secrets.
    pub command: Vec<String>,
    /// The workspace root that the layer lies over.
    pub root: PathBuf,
    /// Milliseconds since the epoch.
    pub began_ms: u64,
    /// The step that was reached.
    pub stage: HeldStage,
    /// The boot of the machine in which the command ran.
    pub boot: String,
    /// The call whose command it was, where a tool ran it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
}

/// The layers of this state directory.
#[derive(Debug)]
pub struct HeldLayers {
    directory: StateDir,
}

/// One layer in a list.
#[derive(Debug, Clone, Serialize)]
pub struct HeldEntry {
    /// The name of its directory, by which commands take it.
    pub id: String,
    /// The facts of the layer.
    #[serde(flatten)]
    pub description: HeldDescription,
    /// Another process works with it now.
    pub is_in_use: bool,
    /// It is being kept, and the process that did it was killed: recovery completes that or takes it back.
    pub is_half_kept: bool,
}

/// A layer that is only read, and may be another process's.
#[derive(Debug)]
pub struct SeenLayer {
    /// The changes.
    pub layer: Layer,
    /// The directory in which the files lie that the command wrote.
    pub upper: PathBuf,
    /// The workspace root that the layer lies over.
    pub root: PathBuf,
}

/// A layer that is ours.
#[derive(Debug)]
pub struct HeldLayer {
    id: String,
    home: StateDir,
    description: HeldDescription,
    layer: Layer,
    _lock: StateLock,
}

impl HeldLayers {
    /// Opens the folder of held layers, and makes it where it is missing.
    pub fn open(state: &StateDir) -> std::io::Result<Self> {
        Ok(Self { directory: state.subdirectory(DIRECTORY)? })
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Makes a layer on a workspace root.
    pub fn begin(&self, root: &Path, command: &[OsString]) -> std::io::Result<HeldLayer> {
        let (id, home) = self.fresh()?;
        HeldLayer::create((id, home), root, command, None)
    }

    pub(super) fn fresh(&self) -> std::io::Result<(String, StateDir)> {
        loop {
            let noise = fresh_id()?;
            let id = noise[noise.len() - ID_LETTERS..].to_owned();
            let path = self.directory.path().join(&id);
            match std::fs::DirBuilder::new().mode(0o700).create(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                made => return made.and_then(|()| Ok((id, StateDir::open(&path)?))),
            }
        }
    }

    /// All layers, the oldest first. A directory without a description is none.
    pub fn list(&self) -> std::io::Result<Vec<HeldEntry>> {
        let mut all = Vec::new();
        for entry in readable_entries(self.directory.path()) {
            let id = entry.file_name().to_string_lossy().into_owned();
            let Ok((home, description)) = self.described(&id) else { continue };
            let is_in_use = home.lock(LOCK)?.is_none();
            all.push(HeldEntry { id, description, is_in_use, is_half_kept: false });
        }
        all.sort_by(|one, other| {
            (one.description.began_ms, &one.id).cmp(&(other.description.began_ms, &other.id))
        });
        Ok(all)
    }

    /// Opens a layer to be read, whoever works with it.
    pub fn look(&self, id: &str) -> std::io::Result<SeenLayer> {
        let (home, description) = self.described(id)?;
        let layer = Layer::open(&description.root, home.path())?;
        Ok(SeenLayer { layer, upper: home.path().join(UPPER), root: description.root })
    }

    /// Takes a layer that was set aside.
    pub fn take(&self, id: &str) -> std::io::Result<HeldLayer> {
        let (home, description) = self.described(id)?;
        HeldLayer::open(id, home, description)
    }

    /// Moves chosen names of a layer to a layer of their own, which is held like the rest.
    pub fn split(
        &self,
        whole: &HeldLayer,
        report: &LayerReport,
        selection: &Selection,
    ) -> std::io::Result<HeldLayer> {
        let (id, home) = self.fresh()?;
        let lock = home.lock(LOCK)?.ok_or_else(|| in_use(HeldStage::Running))?;
        let layer = whole.layer.create_part(&whole.description.root, home.path())?;
        let description = whole.description.clone();
        let mut part = HeldLayer { id, home, description, layer, _lock: lock };
        part.describe(Durability::PowerCut)?;
        jm_system::fault::crash_point("held.split");
        whole.layer.move_part(report, selection, &part.layer)?;
        part.set_aside()?;
        Ok(part)
    }

    /// Removes a layer without looking at it: its workspace may be gone.
    pub fn forget(&self, id: &str) -> std::io::Result<()> {
        let (home, description) = self.described(id)?;
        let _lock = home.lock(LOCK)?.ok_or_else(|| in_use(description.stage))?;
        Ok(remove_layer(home.path())?)
    }

    /// Removes directories that nobody would find again: a process died before it had described its layer, or while
    /// it removed one. Gives their number.
    pub fn remove_undescribed(&self) -> std::io::Result<usize> {
        let mut removed = 0;
        for entry in readable_entries(self.directory.path()) {
            let path = entry.path();
            let age = entry.metadata().and_then(|facts| facts.modified()).map(|at| at.elapsed());
            let is_old = age.is_ok_and(|age| age.is_ok_and(|age| age > UNDESCRIBED_PATIENCE));
            if !is_old || !path.is_dir() || path.join(DESCRIPTION).exists() {
                continue;
            }
            let Some(_lock) = StateDir::open(&path)?.lock(LOCK)? else { continue };
            remove_layer(&path)?;
            removed += 1;
        }
        Ok(removed)
    }

    fn described(&self, id: &str) -> std::io::Result<(StateDir, HeldDescription)> {
        let is_id = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let path = self.directory.path().join(id);
        if !is_id || !path.join(DESCRIPTION).is_file() {
            return Err(Error::new(ErrorKind::NotFound, "no such layer"));
        }
        read_description(&path)
    }
}

/// The directory of a layer, and its description.
pub(super) fn read_description(path: &Path) -> std::io::Result<(StateDir, HeldDescription)> {
    let home = StateDir::open(path)?;
    let text = home.read(DESCRIPTION, MOST_DESCRIPTION)?.unwrap_or_default();
    Ok((home, serde_json::from_str(&text)?))
}

impl HeldLayer {
    /// Makes a layer in an empty directory of its own.
    pub(super) fn create(
        (id, home): (String, StateDir),
        root: &Path,
        command: &[OsString],
        call: Option<&str>,
    ) -> std::io::Result<Self> {
        let lock = home.lock(LOCK)?.ok_or_else(|| in_use(HeldStage::Running))?;
        let description = HeldDescription {
            command: words(command),
            root: root.to_owned(),
            began_ms: now_epoch_ms(),
            stage: HeldStage::Running,
            boot: ProcessIdentity::own().boot,
            call: call.map(str::to_owned),
        };
        let layer = Layer::create(root, home.path())?;
        let held = Self { id, home, description, layer, _lock: lock };
        // After a power cut nothing in it is to be relied on, and its description is missed as little.
        held.describe(Durability::ProcessEnd)?;
        Ok(held)
    }

    /// Gives an empty layer, which was renewed, to another command; `None` where it is of no use any more.
    pub(super) fn begin_again(
        mut self,
        (id, path): (String, &Path),
        command: &[OsString],
        call: &str,
    ) -> std::io::Result<Option<Self>> {
        let old = self.home.path().to_owned();
        if !self.layer.begin_again(&self.description.root, &old)? {
            return Ok(None);
        }
        rustix::fs::renameat_with(CWD, &old, CWD, path, RenameFlags::NOREPLACE)?;
        self.home = StateDir::open(path)?;
        self.id = id;
        self.description.command = words(command);
        self.description.began_ms = now_epoch_ms();
        self.description.call = Some(call.to_owned());
        self.describe(Durability::ProcessEnd)?;
        Ok(Some(self))
    }

    /// Takes a layer that was made before.
    pub(super) fn open(
        id: &str,
        home: StateDir,
        description: HeldDescription,
    ) -> std::io::Result<Self> {
        let lock = home.lock(LOCK)?.ok_or_else(|| in_use(description.stage))?;
        let layer = Layer::open(&description.root, home.path())?;
        Ok(Self { id: id.to_owned(), home, description, layer, _lock: lock })
    }

    /// Gives the layer another directory, durably: its lock and everything else goes with it.
    pub(super) fn move_to(&mut self, id: &str, path: &Path) -> std::io::Result<()> {
        let old = self.home.path().to_owned();
        rustix::fs::renameat_with(CWD, &old, CWD, path, RenameFlags::NOREPLACE)?;
        for parent in [path.parent(), old.parent()].into_iter().flatten() {
            std::fs::File::open(parent)?.sync_all()?;
        }
        self.home = StateDir::open(path)?;
        id.clone_into(&mut self.id);
        Ok(())
    }

    /// The name of its directory.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The facts of the layer.
    pub fn description(&self) -> &HeldDescription {
        &self.description
    }

    /// The changes, to be read or kept.
    pub fn layer(&self) -> &Layer {
        &self.layer
    }

    /// The directory in which the files lie that the command wrote.
    pub fn upper(&self) -> PathBuf {
        self.home.path().join(UPPER)
    }

    /// The directories as a launcher mounts them.
    pub fn place(&self) -> std::io::Result<LayerPlace> {
        Ok(LayerPlace {
            root: FileIdentity::of(self.description.root.clone())?,
            upper: FileIdentity::of(self.upper())?,
            work: FileIdentity::of(self.home.path().join(WORK))?,
            direct: Vec::new(),
        })
    }

    /// Makes the layer ready for another command, which sees what the ones before it changed.
    pub fn renew(&self) -> std::io::Result<()> {
        // Its mount ends with the launcher, and it must not be mounted twice.
        reaper::await_leaving();
        Ok(renew_work(self.home.path())?)
    }

    /// Leaves the layer for later, everything in it on the disk.
    pub fn set_aside(&mut self) -> std::io::Result<()> {
        rustix::fs::syncfs(std::fs::File::open(self.home.path())?)?;
        self.description.stage = HeldStage::SetAside;
        self.describe(Durability::PowerCut)
    }

    /// Removes the description, without which it is no layer to anybody else. Where none is replaced, the next one is not waited
    /// for: ext4 writes the content of a file out before it takes the place of another.
    pub(super) fn forget_description(&self) -> std::io::Result<()> {
        std::fs::remove_file(self.home.path().join(DESCRIPTION))
    }

    fn describe(&self, durability: Durability) -> std::io::Result<()> {
        let text = serde_json::to_vec(&self.description)?;
        replace_small_file(std::fs::File::open(self.home.path())?, DESCRIPTION, &text, durability)
    }

    /// Tells whether what the command wrote may have been lost with the machine's memory.
    pub fn is_lost(&self) -> bool {
        self.description.stage == HeldStage::Running
            && self.description.boot != ProcessIdentity::own().boot
    }

    /// Tells whether the command wrote nothing at all.
    pub fn is_untouched(&self) -> bool {
        std::fs::read_dir(self.upper()).is_ok_and(|mut names| names.next().is_none())
    }

    /// The steps of a keeping that was begun and not ended.
    pub fn half_kept(&self) -> std::io::Result<Option<Vec<LayerStep>>> {
        let text = self.home.read(STEPS, MOST_STEPS)?;
        Ok(text.map(|text| serde_json::from_str(&text)).transpose()?)
    }

    /// Completes a keeping that was begun, or takes it back.
    pub fn converge(&self, steps: &[LayerStep], to: StepState) -> Result<(), KeepError> {
        self.layer.converge(steps, to)?;
        self.forget_steps();
        Ok(())
    }

    /// Carries out all steps, or none.
    pub fn keep(&self, steps: &[LayerStep]) -> Result<(), KeepError> {
        let outcome = self.layer.keep(steps, &mut StepsFile(&self.home));
        // With some of them stuck the record is what leads back.
        if !matches!(outcome, Err(KeepError::Stuck { .. })) {
            self.forget_steps();
        }
        outcome
    }

    fn forget_steps(&self) {
        jm_types::ignore_error(
            std::fs::remove_file(self.home.path().join(STEPS)),
            "a record of steps that are all done, or none, changes nothing",
        );
    }

    /// Removes the layer, and with it the old versions of what was kept.
    pub fn remove(self) -> std::io::Result<()> {
        Ok(remove_layer(self.home.path())?)
    }
}

struct StepsFile<'a>(&'a StateDir);

impl KeepLog for StepsFile<'_> {
    fn prepared(&mut self, steps: &[LayerStep]) -> Result<(), String> {
        let text = serde_json::to_vec(steps).map_err(|error| error.to_string())?;
        self.0.write(STEPS, &text).map_err(|error| error.to_string())
    }
}

fn words(command: &[OsString]) -> Vec<String> {
    command.iter().map(|word| word.to_string_lossy().into_owned()).collect()
}

fn in_use(stage: HeldStage) -> Error {
    let why = match stage {
        HeldStage::Running => "its command runs",
        HeldStage::SetAside => "its question is open",
    };
    Error::new(ErrorKind::WouldBlock, format!("in use by another jm ({why})"))
}
