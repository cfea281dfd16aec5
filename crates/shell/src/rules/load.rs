//! Rules as they are written down, checked and compiled.

use jm_types::Verdict;
use serde::{Deserialize, Serialize};

use super::decide::CommandDecision;
use super::error::{PatternError, RuleError};
use super::matching::CompiledRule;
use super::place::{Readers, RuleContext};
use super::set::CommandRules;
use crate::line::CommandLine;

/// A rule as a configuration holds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleSource {
    /// The words of the command, with stars for what may differ.
    pub pattern: String,
    /// The answer to commands that match.
    pub verdict: Verdict,
    /// Commands that the rule must match; checked when the rule is loaded.
    #[serde(rename = "match", default, skip_serializing_if = "Vec::is_empty")]
    pub matches: Vec<String>,
    /// Commands that the rule must not match; checked when the rule is loaded.
    #[serde(rename = "not_match", default, skip_serializing_if = "Vec::is_empty")]
    pub not_matches: Vec<String>,
}

impl RuleSource {
    /// A rule without examples.
    pub fn new(verdict: Verdict, pattern: impl Into<String>) -> Self {
        let pattern = pattern.into();
        Self { pattern, verdict, matches: Vec::new(), not_matches: Vec::new() }
    }
}

impl CommandRules {
    /// Compiles rules and checks their examples.
    pub fn new<'a>(sources: impl IntoIterator<Item = &'a RuleSource>) -> Result<Self, RuleError> {
        let mut rules = Self::default();
        for source in sources {
            let fail = |error| RuleError { pattern: source.pattern.clone(), error };
            let rule = CompiledRule::compile(&source.pattern, source.verdict).map_err(fail)?;
            check_examples(&rule, source).map_err(fail)?;
            rules.push(rule);
        }
        Ok(rules)
    }
}

fn check_examples(rule: &CompiledRule, source: &RuleSource) -> Result<(), PatternError> {
    let mut alone = CommandRules::default();
    alone.push(rule.clone());
    let context = RuleContext { readers: Readers::NeedRules, roots: &[] };
    let decide = |example: &str| -> (CommandLine, CommandDecision) {
        let line = CommandLine::of_shell(example);
        let decision = alone.decide(&line, &context);
        (line, decision)
    };
    for example in &source.matches {
        let (line, decision) = decide(example);
        if decision.verdict != source.verdict || !decision.is_matched() {
            let why = decision.explain(&line, &alone).join("; ");
            return Err(PatternError::NotMatched(example.clone(), why));
        }
    }
    for example in &source.not_matches {
        if decide(example).1.is_matched() {
            return Err(PatternError::Matched(example.clone()));
        }
    }
    Ok(())
}
