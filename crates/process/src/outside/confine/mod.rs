//! Confinement: what a command may touch, who holds it in, and what that leaves open.
//!
//! Law: never silently none. What holds a command in is chosen by name or by trying, and what it
//! cannot enforce is said before anything runs.

mod confiner;
mod folder_walk;
mod grant;
mod grants;
mod home;
mod kept_names;
mod layers;
mod link_way;
mod missing_settings;
mod plan;
mod probe;
pub mod read_only;
mod refusals;
mod repositories;
mod scan;
mod serving;
mod survey;
mod toolchains;

pub use confiner::Confiner;
pub use grant::Grant;
pub use grants::grants_for;
pub use plan::{CommandSettings, ConfinementPlan};
pub use probe::{Mechanism, probe_backends};
pub use refusals::find_refusals;
pub use scan::ProtectedNames;
pub use serving::ServerGrant;

pub use super::launcher::{Confinement, Launcher};
pub use super::prestarted::PrestartedLaunchers;
pub use super::refusal::{Refusal, SIGSYS, Withheld};
pub use crate::contract::confinement_rules::{
    Access, Backend, ConfinementRules, FileIdentity, KeptName, KeptPresence, LayerPlace, Network,
    Resources,
};
pub use crate::contract::landlock_version::landlock_version;
pub use jm_types::hosts::{Host, HostList, HostRule, NoHost};
