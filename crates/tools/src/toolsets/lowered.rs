//! A call that was parsed into an operation, and the stakes of it.

use std::time::Duration;

use jm_types::RiskLevel;

use jm_types::ToolEffect;

/// The effect of a call on the world, its risk, and the need for a person's decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stakes {
    /// The effect on the world.
    pub effect: ToolEffect,
    /// The risk level.
    pub risk: RiskLevel,
    /// A person decides, whatever the mode.
    pub needs_person: bool,
}

impl Stakes {
    /// A look.
    pub const READS: Self =
        Self { effect: ToolEffect::Reads, risk: RiskLevel::Low, needs_person: false };
    /// A change of files.
    pub const CHANGES: Self =
        Self { effect: ToolEffect::Changes, risk: RiskLevel::Medium, needs_person: false };
    /// A change that only a person may allow, whatever the mode.
    pub const GATED_CHANGES: Self = Self { needs_person: true, ..Self::CHANGES };
    /// A program that confinement keeps to reading; nobody is asked.
    pub const INSPECTS: Self =
        Self { effect: ToolEffect::Inspects, risk: RiskLevel::Low, needs_person: false };
    /// A program, which only a person may allow.
    pub const RUNS: Self =
        Self { effect: ToolEffect::Runs, risk: RiskLevel::High, needs_person: true };
}

/// A parsed call: its operation, and its summary for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lowered<O> {
    /// The operation that is performed.
    pub operation: O,
    /// One line for the person, uncut.
    pub summary: String,
    /// The stakes of this very call, where they differ from those of its row.
    pub stakes: Option<Stakes>,
    /// The directory that its paths count from, where the call names one.
    pub within: Option<String>,
    /// The most time it may take, where the call names one.
    pub timeout: Option<Duration>,
    /// The tool whose rules govern this call, where that is another one.
    pub stands_for: Option<&'static str>,
}

impl<O> Lowered<O> {
    /// A call whose stakes are those of its row.
    pub fn new(operation: O, summary: impl Into<String>) -> Self {
        Self {
            operation,
            summary: summary.into(),
            stakes: None,
            within: None,
            timeout: None,
            stands_for: None,
        }
    }

    /// The same call with stakes of its own.
    #[must_use]
    pub fn at_stake(self, stakes: Stakes) -> Self {
        Self { stakes: Some(stakes), ..self }
    }
}
