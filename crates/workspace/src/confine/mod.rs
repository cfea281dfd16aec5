//! Confinement: what a command may touch, who holds it in, and what that leaves open.
//!
//! Law: never silently none. What holds a command in is chosen by name or by trying, and what it
//! cannot enforce is said before anything runs.

mod bites;
mod confiner;
mod grants;
mod home;
mod layout;
mod plan;
mod probe;
pub mod reading;
mod scan;
mod toolchains;
mod unset;
mod walls;

pub(crate) use jm_types::hosts::{parse_port, split_port};
pub use jm_types::{Host, HostList, HostRule, NoHost};

pub use bites::{Bite, SIGSYS, bites};
pub(crate) use confiner::read_record;
pub use confiner::{Confinement, Confiner, Launcher};
pub use grants::{Grant, grants_for};
pub(crate) use layout::{Layout, Place, SCRATCH, layout};
pub use plan::{CommandSettings, Plan, plan};
pub(crate) use probe::LEAST_LANDLOCK;
pub use probe::{Mechanism, landlock_version, probe};
pub use scan::{ProtectedNames, protected_names};
pub use toolchains::Withheld;
pub(crate) use toolchains::{is_within, withheld};
pub use walls::{Access, Backend, Existing, Identity, Kept, Network, Resources, Walls};
