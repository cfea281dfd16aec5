//! A grant: what a person may give one command, after the confinement has refused it.
//!
//! Law: a grant is as narrow as the refusal: this directory, this host, and the network only where
//! nothing narrower is known. What no flag could open is never offered.

use std::path::{Path, PathBuf};

use jm_files::Sandbox;
use jm_files::names::{Protection, protection};
use serde::{Deserialize, Serialize};

use crate::outside::refusal::{Refusal, is_private};
use jm_types::hosts::HostRule;

/// A right beyond the confinement rules, for one command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grant {
    /// A path that it may change.
    Write(PathBuf),
    /// A host that it may reach through the egress proxy.
    Host(HostRule),
    /// Every host.
    Network,
    /// A command that ran unasked and read-only runs as an ordinary one.
    Ordinary,
}

impl Grant {
    /// As a prompt says it.
    pub fn in_words(&self) -> String {
        match self {
            Self::Write(path) => format!("write access to {}", path.display()),
            Self::Host(rule) => format!("access to {rule}"),
            Self::Network => "network access".to_owned(),
            Self::Ordinary => {
                "run as an ordinary command, with write access to the workspace".to_owned()
            }
        }
    }
}

impl Grant {
    /// Tells whether it may be offered because of what a command printed, which can be anything: never a
    /// home, nothing hidden in one, and nothing that file tools are denied.
    pub(super) fn may_be_offered(&self, sandbox: &Sandbox, homes: &[PathBuf]) -> bool {
        let Self::Write(path) = self else { return true };
        let is_private = is_private(path, homes);
        !is_private && !sandbox.denies(path) && protection(path) == Protection::None
    }
}

impl Refusal {
    /// The grant that would let the command have it.
    pub fn grant(&self) -> Option<Grant> {
        match self {
            Self::Write(path) | Self::Read(path) => {
                self.remedy().and_then(|_| directory_of(path)).map(Grant::Write)
            }
            Self::Host(rule) | Self::AskedHost(rule) => Some(Grant::Host(rule.clone())),
            Self::Network(Some(rule)) => Some(Grant::Host(rule.clone())),
            Self::Network(None) => Some(Grant::Network),
            Self::ReadsOnly => Some(Grant::Ordinary),
            Self::Kept(_)
            | Self::Denied(_)
            | Self::Greeting(_)
            | Self::DeniedHost(_)
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
