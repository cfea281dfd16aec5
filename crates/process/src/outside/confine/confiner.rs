//! The confiner of a workspace's commands: it chooses the back end and plans the confinement of each.

use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use jm_files::Sandbox;
use jm_files::names::protected_part;
use jm_types::ignore_error;

use super::plan::{CommandSettings, ConfinementPlan, plan};
use super::probe::{find_bwrap, try_backend};
use super::scan::{ProtectedNames, protected_names, protected_paths};
use super::survey::{FoundNames, WorkspaceSurvey};
use crate::contract::confinement_rules::{
    Access, Backend, ConfinementRules, FileIdentity, LayerPlace,
};
use crate::contract::record::CommandRecord;
use crate::outside::launcher::{Confinement, Launcher};
use crate::outside::prestarted::NextLauncher;
use crate::outside::program::CommandProgram;
use crate::outside::records::read_record;

/// Confines the commands of a workspace.
#[derive(Debug)]
pub struct Confiner {
    launcher: Option<Launcher>,
    settings: CommandSettings,
    chosen: OnceLock<Backend>,
    /// The access of commands that were judged to only read: [`Access::Full`] once a person has
    /// agreed to one of them.
    reader_access: Access,
    /// The names of the workspace that have to be judged, shared by everything made of this one.
    survey: Arc<WorkspaceSurvey>,
    /// Shared likewise.
    recent: Arc<Mutex<Option<RecentPlan>>>,
}

/// A plan that was made a moment ago: a command is planned when it is judged, when a person has approved it, and when
/// it starts. It holds until a command ends, because that one may have changed anything.
#[derive(Debug)]
struct RecentPlan {
    made: Instant,
    /// The number of commands that had ended.
    ended: usize,
    settings: CommandSettings,
    names: FoundNames,
    environment: Vec<(OsString, OsString)>,
    plan: ConfinementPlan,
}

/// Toolchains and settings of the home are not looked up again within this time. Names of the workspace are, always.
const A_MOMENT: Duration = Duration::from_millis(50);

impl Confiner {
    /// A confiner that has tried nothing yet.
    pub fn new(launcher: Launcher, settings: CommandSettings) -> Self {
        Self {
            launcher: Some(launcher),
            settings,
            chosen: OnceLock::new(),
            reader_access: Access::ReadsOnly,
            survey: Arc::default(),
            recent: Arc::default(),
        }
    }

    /// No launcher: commands have all the rights of this process.
    pub fn unsupervised() -> Self {
        let settings = CommandSettings { backend: Some(Backend::None), ..Default::default() };
        let (chosen, survey, recent) = (OnceLock::new(), Arc::default(), Arc::default());
        Self { launcher: None, settings, chosen, reader_access: Access::ReadsOnly, survey, recent }
    }

    pub(super) fn with_settings(&self, settings: CommandSettings, reader_access: Access) -> Self {
        let (launcher, chosen) = (self.launcher.clone(), self.chosen.clone());
        let (survey, recent) = (Arc::clone(&self.survey), Arc::clone(&self.recent));
        Self { launcher, settings, chosen, reader_access, survey, recent }
    }

    /// The access that a command gets which was judged to only read.
    pub fn reader_access(&self) -> Access {
        self.reader_access
    }

    pub(super) fn launcher(&self) -> Option<&Launcher> {
        self.launcher.as_ref()
    }

    /// The protected names of the workspace that exist, each with the time of its last change where git
    /// itself writes it: what a command made or changed is the difference of two such sets.
    pub fn protected_names(&self, sandbox: &Sandbox) -> ProtectedNames {
        protected_names(sandbox, &self.survey.names(sandbox))
    }

    /// The protected names of the workspace, there or not, for whoever asks once.
    pub fn protected_paths(&self, sandbox: &Sandbox) -> Vec<PathBuf> {
        protected_paths(sandbox, &self.survey.names_once(sandbox))
    }

    /// The person's settings.
    pub fn settings(&self) -> &CommandSettings {
        &self.settings
    }

    /// The directories below a root that approved commands on a layer change directly: those of the settings that are
    /// there, not behind links and not protected themselves.
    pub fn direct_directories(&self, root: &Path) -> Vec<FileIdentity> {
        let named = self.settings.direct.iter().filter(|name| protected_part(name).is_none());
        let named = named.map(|name| root.join(name).components().collect());
        let there = named.filter_map(|path: PathBuf| {
            let found = path.symlink_metadata().ok().filter(Metadata::is_dir)?;
            let is_real = path.canonicalize().is_ok_and(|real| real == path);
            is_real.then_some(FileIdentity { path, device: found.dev(), inode: found.ino() })
        });
        there.collect()
    }

    /// The back end: as configured, or the strongest that works.
    pub fn backend(&self) -> Backend {
        let Some(launcher) = &self.launcher else { return Backend::None };
        *self.chosen.get_or_init(|| match self.settings.backend {
            Some(backend) => backend,
            None => {
                let strongest = Backend::ALL.into_iter();
                let mut working =
                    strongest.filter(|backend| try_backend(launcher, *backend).is_ok());
                working.next().unwrap_or(Backend::None)
            }
        })
    }

    /// Tells whether the back end is found by trying, and has not been found yet.
    pub(super) fn is_to_choose(&self) -> bool {
        self.settings.backend.is_none() && self.chosen.get().is_none()
    }

    /// Takes namespaces, which were seen to work and are the strongest.
    pub(super) fn choose_namespaces(&self) {
        self.chosen.get_or_init(|| Backend::Namespaces);
    }

    /// The rules that a command would get now, and what they leave open: those of a moment ago, if they still hold.
    pub fn plan(&self, sandbox: &Sandbox, environment: &[(OsString, OsString)]) -> ConfinementPlan {
        let names = self.survey.names(sandbox);
        let ended = self.ended_commands();
        let is_current = |recent: &&RecentPlan| {
            recent.made.elapsed() < A_MOMENT
                && recent.ended == ended
                && recent.settings == self.settings
                && recent.environment == environment
                && recent.names == names
                && recent.plan.rules.is_as_planned()
        };
        if let Some(recent) = self.recent().as_ref().filter(is_current) {
            return recent.plan.clone();
        }
        let plan = plan(sandbox, &names, &self.settings, self.backend(), environment);
        let (settings, environment) = (self.settings.clone(), environment.to_vec());
        let (made, planned) = (Instant::now(), plan.clone());
        *self.recent() =
            Some(RecentPlan { made, ended, settings, names, environment, plan: planned });
        plan
    }

    fn recent(&self) -> MutexGuard<'_, Option<RecentPlan>> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ended_commands(&self) -> usize {
        self.launcher.as_ref().map_or(0, |launcher| launcher.prestarted.ended())
    }

    /// Tells whether a launcher is to be started for the next command.
    pub fn expects_more(&self) -> bool {
        self.launcher.as_ref().is_some_and(|launcher| launcher.prestarted.expects_more())
    }

    /// Starts a launcher for the next command, if one is to be expected.
    pub fn prepare_next(&self) {
        self.launcher.iter().for_each(|launcher| launcher.prestarted.prepare());
    }

    /// Starts launchers for several commands that are about to run at once, each on a layer in this directory.
    pub fn expect(
        &self,
        sandbox: &Sandbox,
        environment: &[(OsString, OsString)],
        layers: &Path,
        count: usize,
    ) {
        let Some(launcher) = &self.launcher else { return };
        let root = sandbox.working_root().path().to_owned();
        let direct = self.direct_directories(&root);
        let place = LayerPlace::expected(root, layers).map(|place| LayerPlace { direct, ..place });
        let rules = place.map(|place| self.plan(sandbox, environment).rules.on_layer(place));
        let forecast = rules.ok().and_then(|rules| rules.forecast());
        let next = NextLauncher { program: launcher.program.clone(), forecast };
        launcher.prestarted.expect(&next, count);
    }

    /// `record` names the file that says how the command ended, if we cannot any more.
    pub fn confinement(
        &self,
        sandbox: &Sandbox,
        environment: &[(OsString, OsString)],
        program: &CommandProgram,
        record: Option<&str>,
    ) -> Confinement {
        if self.launcher.is_none() {
            return Confinement::Unsupervised;
        }
        self.confined_by(self.plan(sandbox, environment).rules, program, record)
    }

    /// The same by rules that were computed already.
    pub fn confined_by(
        &self,
        mut rules: ConfinementRules,
        program: &CommandProgram,
        record: Option<&str>,
    ) -> Confinement {
        // What shall run must be seen, wherever it lies.
        rules.readable.extend(program.path());
        self.supervised(rules, record).unwrap_or(Confinement::Unsupervised)
    }

    /// `None` without a launcher.
    pub(super) fn supervised(
        &self,
        rules: ConfinementRules,
        record: Option<&str>,
    ) -> Option<Confinement> {
        let launcher = self.launcher.as_ref()?;
        let bwrap = match rules.backend {
            Backend::Bwrap => find_bwrap(),
            Backend::Namespaces | Backend::Landlock | Backend::None => None,
        };
        let launcher = Launcher { bwrap, ..launcher.clone() };
        let record = record.filter(|_| launcher.records.is_some()).map(str::to_owned);
        Some(Confinement::Supervised { launcher, rules: Box::new(rules), record })
    }

    /// Reads the record of a command whose program is gone. One that is just being ended is
    /// waited for.
    pub fn record(&self, name: &str) -> Option<CommandRecord> {
        let path = self.record_path(name)?;
        read_record(path.parent()?, name)
    }

    /// Removes a record that was copied elsewhere by now.
    pub fn forget_record(&self, name: &str) {
        if let Some(path) = self.record_path(name) {
            ignore_error(std::fs::remove_file(path), "one that stays is never asked for again");
        }
    }

    fn record_path(&self, name: &str) -> Option<PathBuf> {
        let is_plain = !name.is_empty() && Path::new(name).file_name() == Some(OsStr::new(name));
        let folder = self.launcher.as_ref()?.records.as_ref()?;
        is_plain.then(|| folder.join(name))
    }
}
