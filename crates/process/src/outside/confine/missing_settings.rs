//! Settings that a command missed because the file that has them may hold a login.
//!
//! Best effort, as everything that is read from what a command printed.

use crate::contract::confinement_rules::ConfinementRules;
use crate::outside::login_settings::withheld;
use crate::outside::refusal::{Refusal, Withheld};

/// Messages of git without an identity, or with a configuration that it may not open.
const GIT: &[&str] = &[
    "tell me who you are",
    "unable to auto-detect email address",
    "empty ident name",
    "unknown error occurred while reading the configuration files",
];
/// Messages of cargo without its registries, sources or options.
const CARGO: &[&str] = &[
    "could not load cargo configuration",
    "failed to load source for dependency",
    "failed to get `",
    "is not found in cargo configuration",
    "registry index was not found",
    "failed to query replaced source",
    "unable to update registry",
];

/// Withheld settings files of a home that explain what a failed command printed.
pub(super) fn missed_settings(output: &str, rules: &ConfinementRules) -> Vec<Refusal> {
    let lower = output.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let (git, cargo) = (says(GIT), says(CARGO));
    if !git && !cargo {
        return Vec::new();
    }
    let all = rules.homes.iter().flat_map(|home| withheld(home));
    let explains = |one: &Withheld| if one.is_gits() { git } else { cargo };
    all.filter(explains).map(Refusal::Withheld).collect()
}
