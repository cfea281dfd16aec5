//! Access::ReadsOnly: the confinement rules and the environment of a command that runs unasked.
//!
//! Law: right by construction, whatever the command is. It sees the workspace as data that it can
//! neither change nor execute, the system's programs, an empty home and an empty `/tmp` of its own; it
//! has no network and no sockets. Where that cannot be enforced, nothing runs this way.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use jm_files::Sandbox;
use jm_types::ToolError;

use super::confiner::Confiner;
use super::plan::ConfinementPlan;
use super::toolchains;
use crate::contract::confinement_rules::{Access, Network};
use crate::contract::within::is_within;
use crate::outside::launcher::Confinement;

/// The system's programs and libraries, and what they need to start and to print.
const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    "/gnu/store",
    "/run/current-system",
    "/sys/devices/system",
    "/etc/alternatives",
    "/etc/debian_version",
    "/etc/group",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/locale.alias",
    "/etc/locale.conf",
    "/etc/localtime",
    "/etc/magic",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/terminfo",
    "/etc/timezone",
];

/// Directories of programs that belong to the system, in the order of a usual `PATH`.
const PROGRAMS: &[&str] = &[
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
    "/run/current-system/sw/bin",
];

/// The person's variables that reach such a command: how things are shown, and who it is.
const VARIABLES: &[&str] =
    &["HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TERM", "COLUMNS", "LINES", "NO_COLOR"];

/// Git as a reader: no configuration but the repository's own, and of that nothing that names a
/// program. The confinement holds without these; they make git do what was asked instead of failing.
const GIT: &[(&str, &str)] = &[
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_PAGER", "cat"),
    ("PAGER", "cat"),
];

/// Given to git as `GIT_CONFIG_KEY_n` and `GIT_CONFIG_VALUE_n`, which win over every file.
const GIT_SETTINGS: &[(&str, &str)] = &[
    ("safe.bareRepository", "explicit"),
    ("core.fsmonitor", "false"),
    ("core.untrackedCache", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.pager", "cat"),
    ("core.sshCommand", "false"),
    ("core.askPass", "false"),
    ("core.attributesFile", "/dev/null"),
    ("credential.helper", ""),
    ("interactive.diffFilter", ""),
    ("gpg.program", "false"),
    ("gpg.ssh.program", "false"),
    ("gpg.x509.program", "false"),
    ("log.showSignature", "false"),
    ("maintenance.auto", "false"),
    ("gc.auto", "0"),
];

/// Turns the rules of an ordinary command into those of one that only reads.
fn reading(
    plan: ConfinementPlan,
    sandbox: &Sandbox,
    environment: &[(OsString, OsString)],
) -> ConfinementPlan {
    let ConfinementPlan { mut rules, mut gaps } = plan;
    rules.access = Access::ReadsOnly;
    rules.network = Network::Off;
    // Repositories elsewhere that worktrees here belong to: without them git finds nothing.
    let toolchains = toolchains::readable(environment);
    let linked = rules.readable.iter().filter(|path| !toolchains.contains(path)).cloned();
    let linked: Vec<PathBuf> = linked.collect();
    rules.writable = sandbox.roots().map(|root| root.path().to_owned()).collect();
    rules.writable.extend(linked.into_iter().filter(|path| path.ends_with(".git")));
    rules.readable = SYSTEM.iter().map(PathBuf::from).filter(|path| path.exists()).collect();
    // What cannot be written needs no placeholder, and none is made.
    rules.kept = Vec::new();
    rules.absent = Vec::new();
    if !rules.backend.has_own_tree() {
        gaps.push("without namespaces a command cannot be made read-only".to_owned());
    }
    ConfinementPlan { rules, gaps }
}

/// The environment of a command that only reads, made of the person's and of the call's variables
/// that may pass.
pub fn environment(
    sandbox: &Sandbox,
    persons: &[(OsString, OsString)],
    calls: &[(OsString, OsString)],
) -> Vec<(OsString, OsString)> {
    let passes = |name: &OsStr| {
        let name = name.to_string_lossy();
        VARIABLES.contains(&name.as_ref()) || name.starts_with("LC_")
    };
    let mut all: Vec<(OsString, OsString)> =
        persons.iter().chain(calls).filter(|(name, _)| passes(name)).cloned().collect();
    let mut set = |name: &str, value: OsString| all.push((name.into(), value));
    set("PATH", program_path(sandbox));
    GIT.iter().for_each(|(name, value)| set(name, value.into()));
    set("GIT_CONFIG_COUNT", GIT_SETTINGS.len().to_string().into());
    for (number, (key, value)) in GIT_SETTINGS.iter().enumerate() {
        set(&format!("GIT_CONFIG_KEY_{number}"), key.into());
        set(&format!("GIT_CONFIG_VALUE_{number}"), value.into());
    }
    all
}

/// The system's directories of programs; none that lies in the workspace.
fn program_path(sandbox: &Sandbox) -> OsString {
    let is_projects =
        |path: &&&str| sandbox.roots().any(|root| is_within(Path::new(path), root.path()));
    let own = PROGRAMS.iter().filter(|path| !is_projects(path));
    own.copied().collect::<Vec<_>>().join(":").into()
}

impl Confiner {
    /// The rules of a command that only reads, and what this back end cannot enforce of them.
    pub fn reading_plan(
        &self,
        sandbox: &Sandbox,
        environment: &[(OsString, OsString)],
    ) -> ConfinementPlan {
        reading(self.plan(sandbox, environment), sandbox, environment)
    }

    /// The confinement of a command that only reads; an error where it cannot be enforced.
    pub fn reading(
        &self,
        sandbox: &Sandbox,
        environment: &[(OsString, OsString)],
        record: Option<&str>,
    ) -> Result<Confinement, ToolError> {
        let ConfinementPlan { rules, gaps } = self.reading_plan(sandbox, environment);
        if let Some(gap) = gaps.first() {
            let what = format!("not started: it cannot be made read-only here: {gap}");
            return Err(ToolError::failed("command", what));
        }
        match self.supervised(rules, record) {
            Some(confinement) => Ok(confinement),
            None => Err(ToolError::failed("command", "it cannot be made read-only here")),
        }
    }
}
