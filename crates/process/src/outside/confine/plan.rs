//! From the sandbox of the file tools to the confinement of a command.
//!
//! Law: one policy. What a file tool may not read is hidden from commands, what it may not write
//! without a person stays as it is, and both are judged by the same functions.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use jm_files::Sandbox;

use super::folder_walk::MOST_ENTRIES;
use super::home::home_in_workspace;
use super::scan::scan;
use super::survey::FoundNames;
use super::toolchains::NamedToolchains;
use crate::contract::confinement_rules::{
    Access, Backend, ConfinementRules, FileIdentity, Network, Resources,
};
use crate::contract::layout::anchor_directories;
use jm_types::HostExceptions;

/// The person's configuration of commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandSettings {
    /// `None` chooses the strongest that works.
    pub backend: Option<Backend>,
    /// The hosts that commands may reach.
    pub network: Network,
    /// The hosts that rules leave out of that.
    pub exceptions: HostExceptions,
    /// Directories besides the workspace that commands may write.
    pub writable: Vec<PathBuf>,
    /// Directories of the workspace that approved commands on a layer change directly, relative to its root.
    pub direct: Vec<PathBuf>,
    /// Ports of background processes that may be published without a question.
    pub publish: Vec<u16>,
    /// Bounds of processes, memory and files.
    pub resources: Resources,
}

impl Default for CommandSettings {
    fn default() -> Self {
        let resources = Resources::default();
        let (network, exceptions) = (Network::Off, HostExceptions::default());
        let (writable, direct, publish) = (Vec::new(), Vec::new(), Vec::new());
        Self { backend: None, network, exceptions, writable, direct, publish, resources }
    }
}

/// Confinement rules, and the gaps that they leave.
#[derive(Debug, Clone)]
pub struct ConfinementPlan {
    /// The rules for the launcher.
    pub rules: ConfinementRules,
    /// Gaps: what this back end cannot enforce here, each in a sentence.
    pub gaps: Vec<String>,
}

/// Compiles the confinement rules of one command; `found` are the names that have to be judged.
pub(super) fn plan(
    sandbox: &Sandbox,
    found: &FoundNames,
    settings: &CommandSettings,
    backend: Backend,
    environment: &[(OsString, OsString)],
) -> ConfinementPlan {
    let mut scan = scan(sandbox, found);
    let roots: Vec<PathBuf> = sandbox.roots().map(|root| root.path().to_owned()).collect();
    let home = environment.iter().find(|(name, _)| name == "HOME");
    let homes = home.map(|(_, home)| PathBuf::from(home)).filter(|home| home.is_dir());
    // A home that is the root of the tree hides nothing.
    let homes = homes.filter(|home| home.is_absolute() && home.parent().is_some());
    let toolchains = NamedToolchains::of(environment);
    let mut readable = programs(&roots, homes.as_deref(), toolchains.readable());
    readable.append(&mut scan.linked);
    let mut writable = roots;
    writable.extend(settings.writable.iter().filter_map(|path| path.canonicalize().ok()));
    let mut hidden = scan.hidden;
    hidden.extend(sandbox.own().iter().filter(|path| path.exists()).cloned());
    hidden.extend(toolchains.secrets(sandbox, &readable));
    let mut rules = ConfinementRules {
        backend,
        access: Access::Full,
        network: settings.network.clone(),
        writable,
        readable,
        homes: homes.into_iter().collect(),
        kept: scan.kept,
        hidden,
        absent: scan.absent,
        identities: scan.identities,
        resources: settings.resources,
        layer: None,
        shares_loopback: false,
    };
    let around: Vec<FileIdentity> = identities_around(&rules).collect();
    rules.identities.extend(around);
    let mut gaps = gaps(&rules);
    gaps.extend(home_in_workspace(&rules));
    if scan.is_cut {
        gaps.push(format!(
            "the workspace has more than {MOST_ENTRIES} names; denied and protected files beyond that are not hidden from the command"
        ));
    }
    ConfinementPlan { rules, gaps }
}

/// The directories around protected names, as they are now.
fn identities_around(rules: &ConfinementRules) -> impl Iterator<Item = FileIdentity> {
    anchor_directories(rules).into_iter().filter_map(|path| FileIdentity::of(path).ok())
}

/// Paths that may be read and run. A project's own programs are in the workspace and as writable as all of
/// it; those of a home stay as they are, also where the home is the workspace.
fn programs(roots: &[PathBuf], home: Option<&Path>, shown: Vec<PathBuf>) -> Vec<PathBuf> {
    let root_of = |path: &Path| roots.iter().find(|root| path.starts_with(root));
    let is_projects = |path: &PathBuf| {
        root_of(path).is_some_and(|root| home.is_none_or(|home| !home.starts_with(root)))
    };
    let seen = shown.into_iter().filter(|path| !is_projects(path));
    // On the way to them there may be links, on which nothing can be mounted.
    let plain = |path: PathBuf| match root_of(&path) {
        Some(_) => path.canonicalize().unwrap_or(path),
        None => path,
    };
    seen.map(plain).collect()
}

/// The gaps that a back end leaves.
fn gaps(rules: &ConfinementRules) -> Vec<String> {
    let mut gaps = Vec::new();
    match rules.backend {
        Backend::Namespaces | Backend::Bwrap => {}
        Backend::Landlock => {
            let inside = |path: &&PathBuf| rules.writable.iter().any(|root| path.starts_with(root));
            let named = named(rules.hidden.iter().filter(inside));
            if !named.is_empty() {
                gaps.push(format!("landlock cannot hide files inside the workspace: {named}"));
            }
            gaps.push(
                "landlock cannot keep .git/hooks, .git/config, .journeyman and other protected \
                 files of the workspace from being written"
                    .to_owned(),
            );
            if let Network::Listed(_) = rules.network {
                gaps.push(
                    "landlock knows ports, not hosts: the command can reach other hosts on its proxy's port"
                        .to_owned(),
                );
            }
            gaps.push(
                "landlock does not stop a command from changing modes and times of your files \
                 outside the workspace"
                    .to_owned(),
            );
        }
        Backend::None => gaps.push("the command is not confined: it has all your rights".into()),
    }
    gaps
}

fn named<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> String {
    let all: Vec<String> = paths.map(|path| path.display().to_string()).collect();
    match all.len() {
        0..=3 => all.join(", "),
        more => format!("{} and {} more", all[..3].join(", "), more - 3),
    }
}

#[cfg(test)]
mod tests;
