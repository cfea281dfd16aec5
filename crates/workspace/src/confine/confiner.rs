//! Who confines the commands of a workspace, and how.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::plan::{CommandSettings, Plan, plan};
use super::probe::{find_bwrap, works};
use super::walls::{Access, Backend, Walls};
use crate::launch::CommandRecord;
use crate::launch::protocol::running;
use crate::process::Program;
use crate::sandbox::Sandbox;
use crate::spare::Spare;

/// For a launcher whose program has died; it needs less to end everything.
const ORPHAN_PATIENCE: Duration = Duration::from_secs(5);

/// Waits until no launcher holds the lock.
fn await_end(running: &Path) {
    let began = Instant::now();
    while began.elapsed() < ORPHAN_PATIENCE {
        let Ok(file) = std::fs::File::open(running) else { return };
        if file.try_lock().is_ok() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// How a command ended, as its launcher wrote it down. A launcher that is still at it is waited for.
pub(crate) fn read_record(folder: &Path, name: &str) -> Option<CommandRecord> {
    await_end(&folder.join(running(name)));
    let text = crate::state::read_text(&folder.join(name), MOST_RECORD_BYTES).ok()??;
    serde_json::from_str(&text).ok()
}

/// A record is a line.
const MOST_RECORD_BYTES: u64 = 4096;

/// The program that becomes the launcher of a command.
#[derive(Debug, Clone)]
pub struct Launcher {
    /// This program: run with [`crate::launch::LAUNCH`] it becomes a launcher.
    pub program: PathBuf,
    /// Where it writes down how commands ended.
    pub records: Option<PathBuf>,
    pub bwrap: Option<PathBuf>,
    /// One that was started ahead.
    pub spare: Spare,
}

impl Launcher {
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), records: None, bwrap: None, spare: Spare::default() }
    }
}

/// What holds one command in.
#[derive(Debug, Clone)]
pub enum Confinement {
    /// Nothing, and nobody ends the command if we die: for those who embed this library and say so.
    Unsupervised,
    Supervised {
        launcher: Launcher,
        walls: Box<Walls>,
        /// The name of the record that is written when it ends.
        record: Option<String>,
    },
}

impl Confinement {
    pub fn walls(&self) -> Option<&Walls> {
        match self {
            Self::Unsupervised => None,
            Self::Supervised { walls, .. } => Some(walls),
        }
    }
}

/// Confines the commands of a workspace.
#[derive(Debug)]
pub struct Confiner {
    launcher: Option<Launcher>,
    settings: CommandSettings,
    chosen: OnceLock<Backend>,
    /// The access of commands that were judged to only read: [`Access::Full`] once a person has
    /// agreed to one of them.
    reader_access: Access,
}

impl Confiner {
    pub fn new(launcher: Launcher, settings: CommandSettings) -> Self {
        Self {
            launcher: Some(launcher),
            settings,
            chosen: OnceLock::new(),
            reader_access: Access::ReadsOnly,
        }
    }

    /// No launcher: commands have all the rights of this process.
    pub fn unsupervised() -> Self {
        let settings = CommandSettings { backend: Some(Backend::None), ..Default::default() };
        let chosen = OnceLock::new();
        Self { launcher: None, settings, chosen, reader_access: Access::ReadsOnly }
    }

    pub(super) fn with_settings(&self, settings: CommandSettings, reader_access: Access) -> Self {
        let (launcher, chosen) = (self.launcher.clone(), self.chosen.clone());
        Self { launcher, settings, chosen, reader_access }
    }

    /// The access that a command gets which was judged to only read.
    pub fn reader_access(&self) -> Access {
        self.reader_access
    }

    pub fn settings(&self) -> &CommandSettings {
        &self.settings
    }

    /// What confines commands here: as configured, or the strongest that works.
    pub fn backend(&self) -> Backend {
        let Some(launcher) = &self.launcher else { return Backend::None };
        *self.chosen.get_or_init(|| match self.settings.backend {
            Some(backend) => backend,
            None => {
                let strongest = Backend::ALL.into_iter();
                let mut working = strongest.filter(|backend| works(launcher, *backend).is_ok());
                working.next().unwrap_or(Backend::None)
            }
        })
    }

    /// The walls that a command would get now, and what they leave open.
    pub fn plan(&self, sandbox: &Sandbox, environment: &[(OsString, OsString)]) -> Plan {
        plan(sandbox, &self.settings, self.backend(), environment)
    }

    /// `record` names the file that says how the command ended, if we cannot any more.
    pub fn confinement(
        &self,
        sandbox: &Sandbox,
        environment: &[(OsString, OsString)],
        program: &Program,
        record: Option<&str>,
    ) -> Confinement {
        if self.launcher.is_none() {
            return Confinement::Unsupervised;
        }
        self.confined_by(self.plan(sandbox, environment).walls, program, record)
    }

    /// The same by rules that were computed already.
    pub fn confined_by(
        &self,
        mut walls: Walls,
        program: &Program,
        record: Option<&str>,
    ) -> Confinement {
        // What shall run must be seen, wherever it lies.
        walls.readable.extend(program.path());
        self.supervised(walls, record).unwrap_or(Confinement::Unsupervised)
    }

    /// `None` without a launcher.
    pub(super) fn supervised(&self, walls: Walls, record: Option<&str>) -> Option<Confinement> {
        let launcher = self.launcher.as_ref()?;
        let bwrap = match walls.backend {
            Backend::Bwrap => find_bwrap(),
            Backend::Namespaces | Backend::Landlock | Backend::None => None,
        };
        let launcher = Launcher { bwrap, ..launcher.clone() };
        let record = record.filter(|_| launcher.records.is_some()).map(str::to_owned);
        Some(Confinement::Supervised { launcher, walls: Box::new(walls), record })
    }

    /// How a command ended that nobody was there to hear about. One that is just being ended is
    /// waited for.
    pub fn record(&self, name: &str) -> Option<CommandRecord> {
        let path = self.record_path(name)?;
        read_record(path.parent()?, name)
    }

    /// What was recorded elsewhere by now.
    pub fn forget_record(&self, name: &str) {
        if let Some(path) = self.record_path(name) {
            // One that stays is never asked for again.
            std::fs::remove_file(path).unwrap_or_default();
        }
    }

    fn record_path(&self, name: &str) -> Option<PathBuf> {
        let is_plain = !name.is_empty() && Path::new(name).file_name() == Some(OsStr::new(name));
        let folder = self.launcher.as_ref()?.records.as_ref()?;
        is_plain.then(|| folder.join(name))
    }
}
