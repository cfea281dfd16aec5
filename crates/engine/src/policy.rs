//! The approval policy: may a call run (FR-APR-04)?
//!
//! Law: the order of FR-APR-05. Nothing a tool, a list or a mode says can undo a denial, and
//! nothing but a person can lift a tool's own need for one.

use std::collections::BTreeSet;

use jm_tools::Intent;
use jm_types::{ApprovalMode, DenialReason, Verdict};

/// Tools that do what another does: whoever denies that one means these too.
const ALIKE: &[(&str, &str)] = &[("start_process", "run_command")];

#[derive(Debug, Clone)]
pub struct Policy {
    pub enabled: bool,
    pub mode: ApprovalMode,
    pub allowlist: BTreeSet<String>,
    pub denylist: BTreeSet<String>,
    /// Denied by nobody's wish but ours: a person may lift it.
    pub denied_by_default: BTreeSet<String>,
    pub prompt_side_effects: bool,
}

/// A verdict, and the rule that gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ruling {
    pub verdict: Verdict,
    pub rule: String,
}

impl Policy {
    /// The stops that come before anything about the call is looked at.
    pub fn hard_stop(&self, tool: &str) -> Result<(), DenialReason> {
        if !self.enabled {
            return Err(DenialReason::Disabled);
        }
        if self.denylist.contains(tool) {
            return Err(DenialReason::Denylisted { tool: tool.to_owned() });
        }
        let alike = ALIKE.iter().find(|(one, _)| *one == tool).map(|(_, other)| *other);
        match alike.filter(|other| self.is_denied_by_somebody(other)) {
            Some(other) => Err(DenialReason::Denylisted { tool: other.to_owned() }),
            None => Ok(()),
        }
    }

    /// The same for a call that does what another tool is for: it is stopped as that tool would be.
    pub fn hard_stop_of(&self, intent: &Intent) -> Result<(), DenialReason> {
        intent.stands_for.map_or(Ok(()), |governing| self.hard_stop(governing))
    }

    /// By a person's wish, not only ours.
    fn is_denied_by_somebody(&self, tool: &str) -> bool {
        self.denylist.contains(tool) && !self.denied_by_default.contains(tool)
    }

    /// Mode and lists, then what the call itself needs; the stricter wins.
    pub fn rule(&self, tool: &str, intent: &Intent) -> Ruling {
        let by_mode = self.by_mode(tool, intent);
        if intent.needs_person && by_mode.verdict < Verdict::Ask {
            return Ruling::new(Verdict::Ask, "this call always needs a person");
        }
        by_mode
    }

    fn by_mode(&self, tool: &str, intent: &Intent) -> Ruling {
        let allowed = self.allowlist.contains(tool);
        match self.mode {
            ApprovalMode::Auto => Ruling::new(Verdict::Allow, "approval mode auto"),
            ApprovalMode::Deny if allowed => Ruling::new(Verdict::Allow, "on the allow list"),
            ApprovalMode::Deny => Ruling::new(Verdict::Deny, "approval mode deny"),
            ApprovalMode::Prompt if allowed => Ruling::new(Verdict::Allow, "on the allow list"),
            ApprovalMode::Prompt if !intent.effect.is_side_effecting() => {
                Ruling::new(Verdict::Allow, "reads only")
            }
            ApprovalMode::Prompt if self.prompt_side_effects => {
                Ruling::new(Verdict::Ask, "approval mode prompt: the call has side effects")
            }
            ApprovalMode::Prompt => {
                Ruling::new(Verdict::Allow, "approval mode prompt without prompt_side_effects")
            }
        }
    }
}

impl Ruling {
    fn new(verdict: Verdict, rule: &str) -> Self {
        Self { verdict, rule: rule.to_owned() }
    }
}
