//! What a person may give one command, after the walls have refused it.
//!
//! Law: a grant is as narrow as the refusal: this directory, this host, and the network only where
//! nothing narrower is known. What no flag could open is never offered, and because most refusals are
//! only what a command printed, neither is anything that a command might want to talk a person into.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::bites::{Bite, is_private};
use super::confiner::Confiner;
use super::plan::CommandSettings;
use super::walls::{Access, Network, Walls};
use super::{HostList, HostRule};
use crate::names::{Protection, protection};
use crate::sandbox::Sandbox;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grant {
    Write(PathBuf),
    Host(HostRule),
    Network,
    /// What ran unasked and read-only runs as an ordinary command.
    Ordinary,
}

impl Grant {
    /// As a prompt says it.
    pub fn in_words(&self) -> String {
        match self {
            Self::Write(path) => format!("it may write {}", path.display()),
            Self::Host(rule) => format!("it may reach {rule}"),
            Self::Network => "it may use the network".to_owned(),
            Self::Ordinary => {
                "it may do what commands may do here, such as write the workspace".to_owned()
            }
        }
    }
}

impl Grant {
    /// Whether it may be offered because of what a command printed, which can be anything: never a
    /// home, nothing hidden in one, and nothing that file tools are denied.
    fn may_be_offered(&self, sandbox: &Sandbox, homes: &[PathBuf]) -> bool {
        let Self::Write(path) = self else { return true };
        let is_private = is_private(path, homes);
        !is_private && !sandbox.denies(path) && protection(path) == Protection::None
    }
}

impl Bite {
    /// What would let the command have it.
    pub fn grant(&self) -> Option<Grant> {
        match self {
            Self::Write(path) | Self::Read(path) => {
                self.remedy().and_then(|_| directory_of(path)).map(Grant::Write)
            }
            Self::Host(rule) => Some(Grant::Host(rule.clone())),
            Self::Network(Some(rule)) => Some(Grant::Host(rule.clone())),
            Self::Network(None) => Some(Grant::Network),
            Self::ReadsOnly => Some(Grant::Ordinary),
            Self::Kept(_)
            | Self::Denied(_)
            | Self::Greeting(_)
            | Self::Around
            | Self::Call
            | Self::Withheld(_)
            | Self::Private(_) => None,
        }
    }
}

/// The directory that has to be opened for a path: one that is there, and not the root of all.
fn directory_of(path: &Path) -> Option<PathBuf> {
    let found = path.parent()?.canonicalize().ok()?;
    let is_narrow = found.is_dir() && found.parent().is_some();
    is_narrow.then_some(found)
}

impl CommandSettings {
    fn with(&self, grants: &[Grant]) -> Self {
        let mut settings = self.clone();
        for grant in grants {
            match (grant, &settings.network) {
                (Grant::Write(path), _) => settings.writable.push(path.clone()),
                (Grant::Network, _) => settings.network = Network::On,
                // Not a setting: the confiner itself knows it.
                (Grant::Ordinary, _) => {}
                (Grant::Host(_), Network::On) => {}
                (Grant::Host(rule), Network::Listed(list)) => {
                    let more = HostList::new(vec![rule.clone()]);
                    let both = more.map_or_else(|| list.clone(), |more| list.with(&more));
                    settings.network = Network::Listed(both);
                }
                (Grant::Host(rule), Network::Off) => {
                    let list = HostList::new(vec![rule.clone()]);
                    settings.network = list.map_or(Network::Off, Network::Listed);
                }
            }
        }
        settings
    }
}

impl Confiner {
    /// The same for one command that was given more.
    pub fn granting(&self, grants: &[Grant]) -> Self {
        let access = match grants.contains(&Grant::Ordinary) {
            true => Access::Full,
            false => self.reader_access(),
        };
        self.with_settings(self.settings().with(grants), access)
    }
}

/// The grants that would have let a command have what it was refused, as far as they may be offered.
pub fn grants_for(bites: &[Bite], sandbox: &Sandbox, walls: Option<&Walls>) -> Vec<Grant> {
    let homes = walls.map_or(&[][..], |walls| &walls.homes);
    let mut grants: Vec<Grant> = Vec::new();
    for grant in bites.iter().filter_map(Bite::grant) {
        if !grants.contains(&grant) && grant.may_be_offered(sandbox, homes) {
            grants.push(grant);
        }
    }
    grants
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PathPolicy, SandboxSettings};

    #[test]
    fn a_grant_opens_what_was_refused_and_no_more() {
        let host = |rule: &str| Grant::Host(rule.parse().unwrap());
        let mut settings = CommandSettings::default();
        let network =
            |settings: &CommandSettings, grants: &[Grant]| settings.with(grants).network.in_words();
        assert_eq!(network(&settings, &[host("a.org")]), "only a.org");
        assert_eq!(
            network(&settings, &[host("a.org"), host("b.org:8080")]),
            "only a.org, b.org:8080"
        );
        assert_eq!(network(&settings, &[Grant::Network, host("a.org")]), "on");
        settings.network = Network::On;
        assert_eq!(network(&settings, &[host("a.org")]), "on");
        let writable = settings.with(&[Grant::Write("/usr/x".into())]).writable;
        assert_eq!(writable, [PathBuf::from("/usr/x")]);
    }

    #[test]
    fn a_command_cannot_talk_itself_into_a_home() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        let home = real.join("home");
        for name in ["home/.ssh", "home/.config/x", "home/src", "work/.vscode", "work/.aws", "out"]
        {
            std::fs::create_dir_all(real.join(name)).unwrap();
        }
        let sandbox = Sandbox::new(&SandboxSettings {
            allowed_roots: vec![real.join("work")],
            denied_patterns: Vec::new(),
            include_default_denies: true,
            policy: PathPolicy::ABSOLUTE,
            never_write: Vec::new(),
        })
        .unwrap();
        let offered = |name: &str| {
            let grant = Grant::Write(real.join(name));
            grant.may_be_offered(&sandbox, std::slice::from_ref(&home))
        };
        for name in ["", "home", "home/.ssh", "home/.config/x", "work/.aws", "work/.vscode"] {
            assert!(!offered(name), "{name}");
        }
        assert!(offered("home/src") && offered("out"));
    }

    #[test]
    fn what_no_flag_could_open_is_not_offered() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        assert_eq!(Bite::Write(real.join("x")).grant(), Some(Grant::Write(real.clone())));
        assert_eq!(Bite::Write(real.join("no/folder/x")).grant(), None);
        assert_eq!(Bite::Write("/x".into()).grant(), None);
        assert_eq!(Bite::Kept("/w/.git/hooks/x".into()).grant(), None);
        assert_eq!(Bite::Denied("/w/.env".into()).grant(), None);
        assert_eq!(Bite::Call.grant(), None);
    }
}
