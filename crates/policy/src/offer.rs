//! The rules that an answer "always" would store, offered beside the question.
//!
//! Law: nothing is offered for what was not shown whole, for what only a person may allow, and where the
//! policy is strict. "Everywhere" is not offered for what runs a project's own code or changes its files.

use jm_shell::Readers;
use jm_types::{AlwaysOffer, OfferedScope, ToolEffect, Verdict};

use crate::facts::{CallFacts, Floor};
use crate::policy::Policy;

impl Policy {
    /// The offers for a call that is asked about, the narrowest scope first.
    pub fn offers(&self, facts: &CallFacts<'_>, is_shown_whole: bool) -> Vec<AlwaysOffer> {
        if let Some(tool) = self.to_switch_on(facts) {
            return [OfferedScope::Session, OfferedScope::Project]
                .map(|scope| AlwaysOffer { rules: vec![tool.to_owned()], scope })
                .to_vec();
        }
        let asks_each_time = self.asks_by_rule(facts);
        if self.is_strict || !is_shown_whole || facts.floor == Floor::Person || asks_each_time {
            return Vec::new();
        }
        let Some((rules, widest)) = self.offered_rules(facts) else { return Vec::new() };
        [OfferedScope::Session, OfferedScope::Project, OfferedScope::Everywhere]
            .into_iter()
            .filter(|scope| *scope <= widest)
            .map(|scope| AlwaysOffer { rules: rules.clone(), scope })
            .collect()
    }

    /// The tool of the call that is off. A rule of it alone switches it on, and each call of it still asks.
    fn to_switch_on<'a>(&self, facts: &CallFacts<'a>) -> Option<&'a str> {
        [facts.governing, facts.tool].into_iter().find(|tool| self.opts_in(tool))
    }

    /// A rule that asks was written to be asked.
    fn asks_by_rule(&self, facts: &CallFacts<'_>) -> bool {
        let found = self.rules.answer(facts, self.readers);
        found.is_some_and(|found| found.verdict == Verdict::Ask)
    }

    fn offered_rules(&self, facts: &CallFacts<'_>) -> Option<(Vec<String>, OfferedScope)> {
        let tool = facts.governing;
        if let Some(line) = facts.command {
            let offered = self.rules.offer_for_command(tool, line, Readers::Allowed)?;
            let runs_project_code = offered.iter().any(|rule| rule.runs_project_code);
            let widest = match runs_project_code {
                true => OfferedScope::Project,
                false => OfferedScope::Everywhere,
            };
            let rules = offered.iter().map(|rule| format!("{tool}: {}", rule.pattern)).collect();
            return Some((rules, widest));
        }
        // A tool that others wrote: only as it is now.
        if let Some(pinned) = facts.pinned {
            return Some((vec![pinned.to_owned()], OfferedScope::Project));
        }
        match facts.effect {
            ToolEffect::Changes if !facts.paths.is_empty() => {
                Some((vec![format!("{tool}: **")], OfferedScope::Project))
            }
            ToolEffect::Changes | ToolEffect::Reads => {
                Some((vec![tool.to_owned()], OfferedScope::Project))
            }
            // A program of which no command line is known.
            ToolEffect::Runs | ToolEffect::Inspects => None,
        }
    }
}
