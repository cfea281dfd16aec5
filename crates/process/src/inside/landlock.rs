//! Landlock: which files a command may read, write and run, kept by the kernel.
//!
//! Law: what the ruleset does not grant is refused. Inside a tree of its own it is a second boundary;
//! without one it is the only one, and a kernel that cannot carry it runs nothing.

use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

use jm_system::folder::readable_entries;
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, Scope, path_beneath_rules,
};

use super::step::{During, LaunchStep, StepFailure};
use crate::contract::confinement_rules::{Access as Rights, Backend, ConfinementRules};
use crate::contract::landlock_version::{LEAST_LANDLOCK, landlock_version};
use crate::contract::layout::SCRATCH;
use crate::contract::within::is_within;

/// The rights that this program knows of; a kernel that lacks some of them enforces the others.
const KNOWN: ABI = ABI::V6;

/// Devices that every program may expect. Not all of `/dev/pts`: there are the terminals of others of
/// the same user, whose keys could be read.
const DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/fd",
];

/// From this version on it knows ports.
const KNOWS_PORTS: i32 = 4;

/// Further rights of a command whose network and tree are not its own.
#[derive(Debug, Default)]
pub(crate) struct LandlockOpenings {
    /// The one that may be connected to.
    pub(crate) port: Option<u16>,
    /// Its own.
    pub(crate) terminal: Option<PathBuf>,
}

pub(crate) fn enter(confinement: &ConfinementRules, openings: &LandlockOpenings) -> LaunchStep<()> {
    if landlock_version() < LEAST_LANDLOCK {
        return match confinement.backend {
            Backend::Landlock => Err(StepFailure {
                step: "landlock".to_owned(),
                error: Error::new(ErrorKind::Unsupported, "the kernel has no Landlock of use"),
            }),
            Backend::Namespaces | Backend::Bwrap | Backend::None => Ok(()),
        };
    }
    let has_own_tree = confinement.backend.has_own_tree();
    if !has_own_tree && openings.port.is_some() && landlock_version() < KNOWS_PORTS {
        let why = "this kernel's Landlock knows no ports, so a list of hosts cannot be kept";
        let error = Error::new(ErrorKind::Unsupported, why);
        return Err(StepFailure { step: "landlock".to_owned(), error });
    }
    let rules = if has_own_tree { own_tree(confinement) } else { alone(confinement, openings) };
    rules.and_then(RulesetCreated::restrict_self).map_err(Error::other).during("landlock")?;
    Ok(())
}

type Rules = Result<RulesetCreated, landlock::RulesetError>;

fn ruleset(network: BitFlags<AccessNet>) -> Rules {
    let rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(KNOWN))?
        .scope(Scope::from_all(KNOWN))?;
    if network.is_empty() { rules.create() } else { rules.handle_access(network)?.create() }
}

/// Mounts already say what is there; writing is granted where it is meant.
fn own_tree(confinement: &ConfinementRules) -> Rules {
    let scratch = SCRATCH.iter().map(PathBuf::from).chain([PathBuf::from("/dev")]);
    let own = confinement.homes.iter().cloned().chain(scratch);
    let rules = ruleset(BitFlags::empty())?;
    match confinement.access {
        Rights::Full => rules
            .add_rules(path_beneath_rules(["/"], AccessFs::from_read(KNOWN)))?
            .add_rules(path_beneath_rules(&confinement.writable, AccessFs::from_all(KNOWN)))?
            .add_rules(path_beneath_rules(own, AccessFs::from_all(KNOWN))),
        // Only the system's programs are executed: not what lies in the workspace, and not what the
        // command itself has written.
        Rights::ReadsOnly => rules
            .add_rules(path_beneath_rules(["/"], AccessFs::ReadFile | AccessFs::ReadDir))?
            .add_rules(path_beneath_rules(&confinement.readable, AccessFs::from_read(KNOWN)))?
            .add_rules(path_beneath_rules(
                own.filter(|path| !holds_a_root(path, confinement)),
                AccessFs::from_all(KNOWN) & !execute(),
            )),
    }
}

/// Granted as a whole, it would grant the root too: a pipe can be written on a read-only mount.
fn holds_a_root(path: &Path, confinement: &ConfinementRules) -> bool {
    path != Path::new("/dev") && confinement.writable.iter().any(|root| is_within(root, path))
}

fn execute() -> BitFlags<AccessFs> {
    BitFlags::from(AccessFs::Execute)
}

fn alone(confinement: &ConfinementRules, openings: &LandlockOpenings) -> Rules {
    let port = openings.port;
    // Spelt plainly, so that what is hidden inside is found by its bytes.
    let plain = confinement.readable.iter().map(|path| path.components().collect::<PathBuf>());
    let seen = plain.flat_map(|path| without(&path, &confinement.hidden));
    let devices = AccessFs::from_read(KNOWN) | AccessFs::WriteFile | AccessFs::IoctlDev;
    let devices: BitFlags<AccessFs> = devices & !execute();
    let data = AccessFs::ReadFile | AccessFs::ReadDir;
    // A home that is a root of the workspace is granted with it; otherwise nothing of it is.
    let (writable, read) = match confinement.access {
        Rights::Full => (&confinement.writable[..], Vec::new()),
        Rights::ReadsOnly => {
            let roots =
                confinement.writable.iter().flat_map(|root| without(root, &confinement.hidden));
            (&[][..], roots.collect())
        }
    };
    let network = port.map_or(BitFlags::empty(), |_| AccessNet::from_all(KNOWN));
    let opened = port
        .into_iter()
        .map(|port| Ok::<_, landlock::RulesetError>(NetPort::new(port, AccessNet::ConnectTcp)));
    ruleset(network)?
        .add_rules(opened)?
        .add_rules(path_beneath_rules(seen, AccessFs::from_read(KNOWN)))?
        .add_rules(path_beneath_rules(["/proc"], AccessFs::ReadFile | AccessFs::ReadDir))?
        .add_rules(path_beneath_rules(DEVICES, devices))?
        .add_rules(path_beneath_rules(&openings.terminal, devices))?
        .add_rules(path_beneath_rules(read, data))?
        .add_rules(path_beneath_rules(writable, AccessFs::from_all(KNOWN)))
}

/// A directory, spelt plainly, without some of what is in it: all else by name, because a rule cannot
/// take away.
fn without(path: &Path, hidden: &[PathBuf]) -> Vec<PathBuf> {
    let inside: Vec<PathBuf> =
        hidden.iter().filter(|secret| is_within(secret, path)).cloned().collect();
    if inside.is_empty() {
        return vec![path.to_owned()];
    }
    if inside.iter().any(|secret| secret == path) {
        return Vec::new();
    }
    readable_entries(path).flat_map(|entry| without(&entry.path(), &inside)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_without_its_secrets() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for name in ["a/x", "a/y/secret", "a/y/open", "b"] {
            std::fs::create_dir_all(root.join(name)).unwrap();
        }
        assert_eq!(without(root, &[]), [root.to_owned()]);
        let mut left = without(root, &[root.join("a/y/secret")]);
        left.sort();
        assert_eq!(left, ["a/x", "a/y/open", "b"].map(|name| root.join(name)));
        assert!(without(&root.join("b"), &[root.join("b")]).is_empty());
    }
}
