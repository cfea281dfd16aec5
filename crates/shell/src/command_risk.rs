//! Danger: how harmful a command could be, from reading to destruction (FJ-SHELL, FJ-GATE).
//!
//! Law: only a command whose every part is known to read, and nothing but read, is read-only. What
//! cannot be understood is never called harmless, and a name alone proves nothing: its options, the
//! commands that it starts and the files that it is redirected to are judged with it.

use jm_types::RiskLevel;

/// From harmless to harmful: the worst part of a command is the command's own class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DangerClass {
    /// Every part is known to read, and nothing but read.
    ReadOnly,
    /// In no table, or not to be understood before it runs.
    Unknown,
    /// Some part deletes, overwrites, or cannot be taken back.
    Destructive,
}

/// A class, and the reason in words for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Danger {
    /// How harmful the command could be.
    pub class: DangerClass,
    /// The part that gave it the class, in words for a person.
    pub why: String,
    risk: RiskLevel,
}

impl Danger {
    /// The worse of two.
    #[must_use]
    pub fn and(self, other: Danger) -> Self {
        let risk = self.risk.max(other.risk);
        let is_worse = (other.class, other.risk) > (self.class, self.risk);
        let worse = if is_worse { other } else { self };
        Self { risk, ..worse }
    }

    /// True unless the command is known to read only.
    pub fn needs_person(&self) -> bool {
        self.class != DangerClass::ReadOnly
    }

    /// The level that a question shows: low for what only reads, medium for changes inside the workspace and
    /// for programs that are not known, high for what deletes, rewrites history, reaches the network, acts
    /// beyond the workspace, or cannot be understood before it runs.
    pub fn risk(&self) -> RiskLevel {
        self.risk
    }

    pub(crate) fn none() -> Self {
        let why = "only reads".to_owned();
        Self { class: DangerClass::ReadOnly, why, risk: RiskLevel::Low }
    }

    pub(crate) fn unknown(why: impl Into<String>) -> Self {
        Self { class: DangerClass::Unknown, why: why.into(), risk: RiskLevel::Medium }
    }

    /// A part that cannot be understood may be anything.
    pub(crate) fn opaque(why: impl Into<String>) -> Self {
        Self { risk: RiskLevel::High, ..Self::unknown(why) }
    }

    /// Some part changes files of the workspace, and nothing worse.
    pub(crate) fn changes(why: impl Into<String>) -> Self {
        Self { risk: RiskLevel::Medium, ..Self::destructive(why) }
    }

    pub(crate) fn destructive(why: impl Into<String>) -> Self {
        Self { class: DangerClass::Destructive, why: why.into(), risk: RiskLevel::High }
    }
}

/// The first of the worst.
pub(crate) fn worst(dangers: impl IntoIterator<Item = Danger>) -> Danger {
    dangers.into_iter().fold(Danger::none(), Danger::and)
}
