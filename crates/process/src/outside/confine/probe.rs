//! Probes of the back ends that confine a command on this machine, by using them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use serde::Serialize;

use super::plan::CommandSettings;
use super::toolchains;
use crate::contract::confinement_rules::{Access, Backend, ConfinementRules, Network};
use crate::contract::landlock_version::{LEAST_LANDLOCK, landlock_version};
use crate::outside::command::{CommandEnding, CommandInput, command_streams, run_quietly};
use crate::outside::launcher::Launcher;
use crate::outside::launcher_link::{LaunchTask, start};

const PATIENCE: Duration = Duration::from_secs(5);

/// One way to confine commands.
#[derive(Debug, Clone, Serialize)]
pub struct Mechanism {
    /// The mechanism that was tried.
    pub backend: Backend,
    /// A trial command ran and could not do what it must not.
    pub works: bool,
    /// The reason why not, or what exactly.
    pub detail: String,
}

/// Tries every way once.
pub fn probe_backends(launcher: &Launcher) -> Vec<Mechanism> {
    let confining = [Backend::Namespaces, Backend::Bwrap, Backend::Landlock];
    let tried = confining.into_iter().map(|backend| match try_backend(launcher, backend) {
        Ok(detail) => Mechanism { backend, works: true, detail },
        Err(detail) => Mechanism { backend, works: false, detail },
    });
    tried.collect()
}

/// Runs a shell that does nothing with this confinement.
pub(crate) fn try_backend(launcher: &Launcher, backend: Backend) -> Result<String, String> {
    let version = landlock_version();
    let detail = match backend {
        Backend::None => return Ok(String::new()),
        Backend::Landlock if version < LEAST_LANDLOCK => {
            return Err(format!("the kernel offers version {version}; {LEAST_LANDLOCK} is needed"));
        }
        Backend::Landlock => format!("Landlock version {version}, seccomp"),
        Backend::Namespaces | Backend::Bwrap if version < LEAST_LANDLOCK => {
            "seccomp inside, no Landlock".to_owned()
        }
        Backend::Namespaces => format!("Landlock version {version} and seccomp inside"),
        Backend::Bwrap => match find_bwrap() {
            None => return Err("there is no bwrap".to_owned()),
            Some(path) => {
                format!("{}, Landlock version {version} and seccomp inside", path.display())
            }
        },
    };
    trial(launcher, backend).map(|()| detail)
}

/// A script that shows whether rules can be enforced.
pub(crate) struct Trial<'a> {
    pub(crate) directory: &'a Path,
    pub(crate) script: &'a str,
}

fn trial(launcher: &Launcher, backend: Backend) -> Result<(), String> {
    let nothing = Trial { directory: Path::new("/"), script: ":" };
    try_rules(launcher, &nothing, |rules| ConfinementRules { backend, ..rules })
}

/// Runs a script with rules that are made from the least ones.
pub(crate) fn try_rules(
    launcher: &Launcher,
    trial: &Trial<'_>,
    change: impl FnOnce(ConfinementRules) -> ConfinementRules,
) -> Result<(), String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let environment = [("PATH".into(), path)];
    let rules = change(least_rules(toolchains::readable(&environment)));
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory =
        rustix::fs::open(trial.directory, flags, Mode::empty()).map_err(|e| e.to_string())?;
    let (ours, stdin, output) =
        command_streams(&CommandInput::Closed).map_err(|e| e.to_string())?;
    let task = LaunchTask {
        // By its path: what is on the person's own says nothing about confinement rules.
        words: ["/bin/sh", "-c", trial.script].map(Into::into).to_vec(),
        directory,
        directory_name: trial.directory,
        environment: &environment,
        stdin,
        output,
        lifetime: PATIENCE,
        rules: &rules,
        record: None,
    };
    // A trial says nothing about how many commands are to come.
    let launcher = Launcher { bwrap: find_bwrap(), ..Launcher::new(&launcher.program) };
    let finished =
        run_quietly(|| start(&launcher, task), ours, PATIENCE).map_err(|e| e.to_string())?;
    match finished.ending {
        CommandEnding::SUCCESS => Ok(()),
        _ => Err(finished.stderr.render(200).trim().to_owned()),
    }
}

/// Rules that let a command read the system and nothing else.
fn least_rules(readable: Vec<PathBuf>) -> ConfinementRules {
    ConfinementRules {
        backend: Backend::None,
        access: Access::Full,
        network: Network::Off,
        writable: Vec::new(),
        readable,
        homes: Vec::new(),
        kept: Vec::new(),
        hidden: Vec::new(),
        absent: Vec::new(),
        identities: Vec::new(),
        resources: CommandSettings::default().resources,
        layer: None,
        shares_loopback: false,
    }
}

/// The path of the system's `bwrap`: never from a directory that others may write.
pub(crate) fn find_bwrap() -> Option<PathBuf> {
    ["/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap", "/run/current-system/sw/bin/bwrap"]
        .into_iter()
        .map(PathBuf::from)
        .find(|path| path.is_file())
}
