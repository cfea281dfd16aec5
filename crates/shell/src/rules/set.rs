//! Compiled rules, found by the program that they are about.

use std::collections::HashMap;

use super::matching::CompiledRule;

/// Rules, compiled and found by the program that they are about.
#[derive(Debug, Clone, Default)]
pub struct CommandRules {
    pub(crate) rules: Vec<CompiledRule>,
    by_program: HashMap<String, Vec<usize>>,
    /// Rules that forbid or ask about any program, and rules about redirections alone.
    about_any: Vec<usize>,
}

impl CommandRules {
    pub(crate) fn push(&mut self, rule: CompiledRule) {
        let index = self.rules.len();
        match rule.program() {
            Some(program) => self.by_program.entry(program.to_owned()).or_default().push(index),
            None => self.about_any.push(index),
        }
        self.rules.push(rule);
    }

    /// The rules that may be about a program, by its name without a directory.
    pub(crate) fn about(&self, program: &str) -> impl Iterator<Item = (usize, &CompiledRule)> {
        let named = self.by_program.get(program).map(Vec::as_slice).unwrap_or_default();
        named.iter().chain(&self.about_any).map(|index| (*index, &self.rules[*index]))
    }

    /// The pattern of a rule, by its place among the sources.
    pub fn pattern(&self, index: usize) -> Option<&str> {
        self.rules.get(index).map(|rule| rule.text.as_str())
    }
}
