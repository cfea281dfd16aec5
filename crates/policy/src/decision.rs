//! A verdict on a call together with its reason.

use std::fmt;
use std::path::PathBuf;

use jm_types::{DenialReason, Verdict};

/// The place a rule was written at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleOrigin {
    /// Part of the program.
    BuiltIn,
    /// A flag of this run.
    Flag,
    /// An environment variable.
    Environment(String),
    /// A line of a configuration file.
    File {
        /// The configuration file.
        path: PathBuf,
        /// The line in it, from 1.
        line: usize,
    },
    /// An answer "always" that was stored, by its number in `jm policy list`.
    Remembered {
        /// Counts from 1 in the order of storing.
        number: u64,
    },
}

impl fmt::Display for RuleOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RuleOrigin::BuiltIn => f.write_str("built in"),
            RuleOrigin::Flag => f.write_str("given as a flag"),
            RuleOrigin::Environment(name) => write!(f, "from {name}"),
            RuleOrigin::File { path, line } => write!(f, "{}:{line}", path.display()),
            RuleOrigin::Remembered { number } => write!(f, "remembered answer {number}"),
        }
    }
}

/// The step of the evaluation order that settled a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// Tools or approval are switched off.
    Disabled,
    /// The deny list.
    DenyList,
    /// A rule that denies.
    DenyRule,
    /// Mode `deny`, for a call that nothing allows.
    DenyMode,
    /// The tool is off by default, and nobody was asked yet whether to switch it on.
    OptIn,
    /// A resolver of the chain answered.
    Resolver,
    /// No resolver answered, so the mode did.
    Mode,
    /// The tool's own floor asked for more.
    Floor,
}

/// Why a call got its verdict: for people in one line, for `jm policy explain` in parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// The step of the evaluation that was reached.
    pub step: Step,
    /// One line, in plain words.
    pub text: String,
    /// The rule as it was written, and where.
    pub rule: Option<(String, RuleOrigin)>,
    /// The part of the call that the rule matched.
    pub matched: Option<String>,
    /// The resolver that answered.
    pub resolver: Option<String>,
}

impl Reason {
    pub(crate) fn new(step: Step, text: impl Into<String>) -> Self {
        Self { step, text: text.into(), rule: None, matched: None, resolver: None }
    }

    pub(crate) fn with_rule(mut self, rule: impl Into<String>, origin: RuleOrigin) -> Self {
        self.rule = Some((rule.into(), origin));
        self
    }

    pub(crate) fn matching(mut self, part: Option<String>) -> Self {
        self.matched = part;
        self
    }
}

/// The decision on a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Allow, ask or deny.
    pub verdict: Verdict,
    /// The reason of the verdict, for the question and for the journal.
    pub reason: Reason,
    /// Set when the verdict is to deny.
    pub denial: Option<DenialReason>,
}

impl Decision {
    pub(crate) fn new(verdict: Verdict, reason: Reason) -> Self {
        Self { verdict, reason, denial: None }
    }

    pub(crate) fn denied(denial: DenialReason, reason: Reason) -> Self {
        Self { verdict: Verdict::Deny, reason, denial: Some(denial) }
    }
}
