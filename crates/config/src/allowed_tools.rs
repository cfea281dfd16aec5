//! Consent: the tools that the person allows and denies for one run.
//!
//! Law: a denial wins, and lists of denials only add up. Allowing a tool takes away the built-in denial
//! and no other; where somebody wrote the denial down, the person is told where.

use thiserror::Error;

use crate::keys::{ALLOW_RULES, ALLOWLIST, DENYLIST};
use crate::load_outcome::Loaded;
use crate::origin::{SettingOrigin, Source, shown};
use crate::settings::RuleEntry;

/// A tool was allowed for this run that somebody had denied.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{}` is allowed here and denied by {denied_by}", shown(tool))]
pub struct AllowedAndDenied {
    /// The name on both lists.
    pub tool: String,
    /// The place of the denial, which wins.
    pub denied_by: SettingOrigin,
}

impl AllowedAndDenied {
    /// The next step for the person: the line to remove.
    pub fn hint(&self) -> String {
        let tool = shown(&self.tool);
        match self.denied_by.source {
            Source::Flag => format!("a denial always wins: remove `--deny {tool}`"),
            Source::Default | Source::User(_) | Source::Project(_) | Source::Environment => {
                format!("a denial always wins: remove `{tool}` from `{DENYLIST}` there")
            }
        }
    }
}

/// The warning for a tool that the configuration both allows and denies.
pub(super) fn stays_denied(tool: &str, denied_by: &SettingOrigin) -> String {
    let tool = shown(tool);
    format!("`{tool}` is in `{ALLOWLIST}` but denied by `{DENYLIST}` ({denied_by})")
}

impl Loaded {
    /// Takes away the built-in denial of what the person's own configuration allows by name
    /// (NFR-SEC-06). A project's file opts in for nobody, trusted or not.
    pub(super) fn opt_in(&mut self) {
        let origins = self.provenance.get(ALLOWLIST).cloned().unwrap_or_default();
        if origins.iter().any(|origin| matches!(origin.source, Source::Project(_))) {
            return;
        }
        let allowed = self.config.tools.approval.allowlist.clone();
        allowed.iter().for_each(|tool| self.lift_default(tool));
    }

    /// The same for tools that a rule allows in part: what the rule does not allow is asked about.
    pub(super) fn opt_in_by_rules(&mut self) {
        let is_own = |entry: &&RuleEntry| {
            let origin = self.rule_origins.get(&(ALLOW_RULES, entry.rule.clone()));
            origin.is_some_and(|origin| !matches!(origin.source, Source::Project(_)))
        };
        let own = self.config.tools.approval.allow.iter().filter(is_own);
        let tools: Vec<String> = own.map(|entry| entry.tool().to_owned()).collect();
        tools.iter().for_each(|tool| self.lift_default(tool));
    }

    /// Takes away the built-in denial of a tool, and no other.
    pub fn lift_default(&mut self, tool: &str) {
        let by_default = |denied: &SettingOrigin| denied.source == Source::Default;
        if self.denials.get(tool).is_some_and(by_default) {
            self.config.tools.approval.denylist.retain(|denied| denied != tool);
            self.denials.remove(tool);
        }
    }

    /// `--allow TOOL`. Call it after every [`Loaded::deny`], so that the order of the flags does
    /// not matter.
    pub fn allow(&mut self, tool: &str) -> Result<(), AllowedAndDenied> {
        match self.denials.get(tool) {
            Some(origin) if origin.source != Source::Default => {
                return Err(AllowedAndDenied { tool: tool.to_owned(), denied_by: origin.clone() });
            }
            Some(origin) => {
                let answered = stays_denied(tool, origin);
                self.warnings.retain(|warning| *warning != answered);
                self.config.tools.approval.denylist.retain(|denied| denied != tool);
                self.denials.remove(tool);
                self.note_flag(DENYLIST);
            }
            None => {}
        }
        let allowlist = &mut self.config.tools.approval.allowlist;
        if !allowlist.iter().any(|allowed| allowed == tool) {
            allowlist.push(tool.to_owned());
            self.note_flag(ALLOWLIST);
        }
        Ok(())
    }

    /// `--allow 'TOOL: PATTERN'`: what somebody denied whole is not allowed in part.
    pub fn check_allowed(&self, tool: &str) -> Result<(), AllowedAndDenied> {
        match self.denials.get(tool) {
            Some(origin) if origin.source != Source::Default => {
                Err(AllowedAndDenied { tool: tool.to_owned(), denied_by: origin.clone() })
            }
            Some(_) | None => Ok(()),
        }
    }

    /// `--deny TOOL`.
    pub fn deny(&mut self, tool: &str) {
        let flag = SettingOrigin::whole(Source::Flag);
        // Denying what is denied by default makes the denial the person's own.
        match self.denials.get(tool) {
            Some(origin) if origin.source != Source::Default => return,
            Some(_) => {}
            None => self.config.tools.approval.denylist.push(tool.to_owned()),
        }
        self.denials.insert(tool.to_owned(), flag);
        self.note_flag(DENYLIST);
    }

    fn note_flag(&mut self, path: &'static str) {
        let origins = self.provenance.entry(path).or_default();
        let flag = SettingOrigin::whole(Source::Flag);
        if !origins.contains(&flag) {
            origins.push(flag);
        }
    }
}
