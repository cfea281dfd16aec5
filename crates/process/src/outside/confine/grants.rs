//! Grants of a person to one command, after the confinement has refused it something.
//!
//! Law: a grant is as narrow as the refusal: this directory, this host, and the network only where
//! nothing narrower is known. What no flag could open is never offered, and because most refusals are
//! only what a command printed, neither is anything that a command might want to talk a person into.

use jm_files::Sandbox;

use super::confiner::Confiner;
use super::grant::Grant;
use super::plan::CommandSettings;
use crate::contract::confinement_rules::{Access, ConfinementRules, Network};
use crate::outside::refusal::Refusal;
use jm_types::{HostExceptions, HostList};

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
                    settings.network = Network::Listed(list.clone().granting(rule.clone()));
                }
                (Grant::Host(rule), Network::Off) => {
                    let list = HostList::new(vec![rule.clone()]);
                    let list = list.map(|list| list.except(settings.exceptions.clone()));
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
        let access =
            if grants.contains(&Grant::Ordinary) { Access::Full } else { self.reader_access() };
        self.with_settings(self.settings().with(grants), access)
    }
}

/// The grants that would have let a command have what it was refused, as far as they may be offered.
pub fn grants_for(
    refusals: &[Refusal],
    sandbox: &Sandbox,
    rules: Option<&ConfinementRules>,
    exceptions: &HostExceptions,
) -> Vec<Grant> {
    let homes = rules.map_or(&[][..], |rules| &rules.homes);
    let mut grants: Vec<Grant> = Vec::new();
    for grant in refusals.iter().filter_map(Refusal::grant) {
        let is_open = match &grant {
            Grant::Host(rule) => exceptions.may_be_granted(rule),
            // The whole network would have the hosts that rules leave out.
            Grant::Network => exceptions.is_empty(),
            Grant::Write(_) | Grant::Ordinary => true,
        };
        if is_open && !grants.contains(&grant) && grant.may_be_offered(sandbox, homes) {
            grants.push(grant);
        }
    }
    grants
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use jm_files::{PathPolicy, SandboxSettings};

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
        assert_eq!(Refusal::Write(real.join("x")).grant(), Some(Grant::Write(real.clone())));
        assert_eq!(Refusal::Write(real.join("no/folder/x")).grant(), None);
        assert_eq!(Refusal::Write("/x".into()).grant(), None);
        assert_eq!(Refusal::Kept("/w/.git/hooks/x".into()).grant(), None);
        assert_eq!(Refusal::Denied("/w/.env".into()).grant(), None);
        assert_eq!(Refusal::Call.grant(), None);
    }
}
