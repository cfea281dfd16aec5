//! The rule book: all rules together, those about commands compiled for each tool.
//!
//! Law: the strictest rule that matches wins. A command is allowed only if every part of it is allowed by a
//! rule or only reads, and at least one part by a rule.

use std::collections::BTreeMap;

use jm_shell::{
    Because, CommandDecision, CommandLine, CommandRules, Readers, RuleContext, RuleText,
};
use jm_types::{Host, Verdict};

use crate::facts::CallFacts;
use crate::rule::{PolicyRule, PolicyRuleError};

/// All rules of the configuration, of flags, and remembered answers.
#[derive(Debug, Clone, Default)]
pub struct RuleBook {
    rules: Vec<PolicyRule>,
    commands: BTreeMap<String, ToolCommands>,
    /// Absolute paths of the workspace's directories.
    roots: Vec<String>,
}

/// The rules about one tool's commands, and their places in the book.
#[derive(Debug, Clone)]
struct ToolCommands {
    compiled: CommandRules,
    places: Vec<usize>,
}

/// The book's answer about a call.
#[derive(Debug, Clone)]
pub(crate) struct RuleAnswer<'a> {
    pub(crate) rule: &'a PolicyRule,
    pub(crate) verdict: Verdict,
    /// The part of the call that the rule matched; `None` for all of it.
    pub(crate) matched: Option<String>,
}

impl RuleBook {
    /// Puts rules together and checks their examples.
    pub fn new(rules: Vec<PolicyRule>, roots: Vec<String>) -> Result<Self, PolicyRuleError> {
        let mut by_tool: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (place, rule) in rules.iter().enumerate().filter(|(_, rule)| rule.command().is_some()) {
            by_tool.entry(rule.tool.clone()).or_default().push(place);
        }
        let compile = |(tool, places): (String, Vec<usize>)| {
            let sources = places.iter().filter_map(|place| rules[*place].command());
            let compiled =
                CommandRules::new(sources).map_err(|error| PolicyRuleError::BadCommand {
                    rule: format!("{tool}: {}", error.pattern),
                    message: error.error.to_string(),
                })?;
            Ok((tool, ToolCommands { compiled, places }))
        };
        let commands = by_tool.into_iter().map(compile).collect::<Result<_, _>>()?;
        Ok(Self { rules, commands, roots })
    }

    /// The same rules and more.
    pub fn with(&self, more: Vec<PolicyRule>) -> Result<Self, PolicyRuleError> {
        Self::new([self.rules.clone(), more].concat(), self.roots.clone())
    }

    /// All rules in the order in which they were given.
    pub fn rules(&self) -> &[PolicyRule] {
        &self.rules
    }

    /// The strictest rule about a host at a port; `None` where no rule is about it.
    pub fn host_rule(&self, host: &Host, port: u16) -> Option<&PolicyRule> {
        let is_about = |rule: &&PolicyRule| rule.host().is_some_and(|it| it.admits(host, port));
        let about = self.rules.iter().filter(is_about);
        about.reduce(|one, other| if other.verdict > one.verdict { other } else { one })
    }

    /// The strictest rule that matches a call; `None` where no rule does.
    pub(crate) fn answer(&self, facts: &CallFacts<'_>, readers: Readers) -> Option<RuleAnswer<'_>> {
        let plain = self.rules.iter().filter_map(|rule| {
            let matched = rule.matches(facts)?.part;
            Some(RuleAnswer { rule, verdict: rule.verdict, matched })
        });
        let by_command = facts.command.into_iter().flat_map(|line| {
            let about = self.commands.iter().filter(|(tool, _)| facts.is_about(tool));
            about.filter_map(move |(tool, rules)| {
                let answer = self.command_answer(rules, line, readers)?;
                // Only the rules of the tool that governs the call may allow it.
                let counts = answer.verdict != Verdict::Allow || tool == facts.governing;
                counts.then_some(answer)
            })
        });
        // The strictest; of those that allow, one about this very command, which confirms it too.
        let weight = |answer: &RuleAnswer<'_>| (answer.verdict, answer.rule.command().is_some());
        plain
            .chain(by_command)
            .reduce(|one, other| if weight(&other) > weight(&one) { other } else { one })
    }

    fn command_answer(
        &self,
        tool: &ToolCommands,
        line: &CommandLine,
        readers: Readers,
    ) -> Option<RuleAnswer<'_>> {
        let decision = self.decide_command(tool, line, readers);
        let deciding = decision.parts.iter().zip(line.parts()).find_map(|(part, shown)| {
            let (Because::Rule(index) | Because::Named(index) | Because::MayMatch(index)) =
                part.because
            else {
                return None;
            };
            (part.verdict == decision.verdict).then(|| (index, shown.shown()))
        });
        let (index, shown) = deciding?;
        let rule = &self.rules[*tool.places.get(index)?];
        Some(RuleAnswer { rule, verdict: decision.verdict, matched: Some(shown) })
    }

    fn decide_command(
        &self,
        tool: &ToolCommands,
        line: &CommandLine,
        readers: Readers,
    ) -> CommandDecision {
        let roots: Vec<&str> = self.roots.iter().map(String::as_str).collect();
        tool.compiled.decide(line, &RuleContext { readers, roots: &roots })
    }

    /// The reasons part by part, for `jm policy explain`.
    pub fn explain_command(&self, tool: &str, line: &CommandLine, readers: Readers) -> Vec<String> {
        let none = ToolCommands { compiled: CommandRules::default(), places: Vec::new() };
        let tool = self.commands.get(tool).unwrap_or(&none);
        self.decide_command(tool, line, readers).explain(line, &tool.compiled)
    }

    /// The rules that an answer "always" would add for a command; `None` where nothing may be offered.
    pub fn offer_for_command(
        &self,
        tool: &str,
        line: &CommandLine,
        readers: Readers,
    ) -> Option<Vec<RuleText>> {
        let none = CommandRules::default();
        let compiled = self.commands.get(tool).map_or(&none, |tool| &tool.compiled);
        let roots: Vec<&str> = self.roots.iter().map(String::as_str).collect();
        compiled.derive(line, &RuleContext { readers, roots: &roots })
    }
}
