//! Rules: `TOOL` or `TOOL: PATTERN`, with the verdict of the list they stand in.
//!
//! Law: a rule allows a call only if it matches all that the call touches; it asks about or denies a call
//! if it matches any of it. The strictest rule wins, wherever it stands.

use std::fmt;

use globset::{GlobBuilder, GlobMatcher};
use jm_shell::RuleSource;
use jm_types::Verdict;
use thiserror::Error;

use crate::decision::RuleOrigin;
use crate::facts::{CallFacts, TouchedPath};

/// A rule as it was written.
#[derive(Debug, Clone)]
pub struct PolicyRule {
    /// The answer that the rule gives.
    pub verdict: Verdict,
    /// The tool that it is about.
    pub tool: String,
    pattern: Pattern,
    /// The place where it was written.
    pub origin: RuleOrigin,
}

#[derive(Debug, Clone)]
enum Pattern {
    /// Every call of the tool.
    Any,
    /// Paths relative to the workspace root.
    Path(GlobMatcher),
    /// A command, judged together with the other rules about commands.
    Command(RuleSource),
}

/// A rule that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "each variant's message says it")]
pub enum PolicyRuleError {
    #[error("the rule `{rule}` names no tool; write TOOL or TOOL: PATTERN")]
    NoTool { rule: String },
    #[error("the rule `{rule}` has an empty pattern; write `{tool}` alone for every call of it")]
    EmptyPattern { rule: String, tool: String },
    #[error("the rule `{rule}` is not a valid path pattern: {message}")]
    BadGlob { rule: String, message: String },
    #[error("the rule `{rule}`: {message}")]
    BadCommand { rule: String, message: String },
    #[error("the rule `{rule}` does not match its example `{example}`")]
    ExampleMissed { rule: String, example: String },
    #[error("the rule `{rule}` matches its counter-example `{example}`")]
    ExampleHit { rule: String, example: String },
    #[error("the rule `{rule}` has no pattern to check examples against")]
    NeedlessExample { rule: String },
}

/// The subject of the pattern in a tool's rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// Globs over the paths of the call.
    Paths,
    /// Patterns over the words of a command.
    Commands,
}

impl PolicyRule {
    /// Reads `TOOL` or `TOOL: PATTERN`.
    pub fn parse(
        text: &str,
        verdict: Verdict,
        origin: RuleOrigin,
        subject: impl Fn(&str) -> Subject,
    ) -> Result<Self, PolicyRuleError> {
        let rule = text.trim().to_owned();
        let (tool, pattern) = match rule.split_once(':') {
            Some((tool, pattern)) => (tool.trim(), Some(pattern.trim())),
            None => (rule.as_str(), None),
        };
        if tool.is_empty() || tool.contains(char::is_whitespace) {
            return Err(PolicyRuleError::NoTool { rule });
        }
        let tool = tool.to_owned();
        let pattern = match pattern {
            None => Pattern::Any,
            Some("") => return Err(PolicyRuleError::EmptyPattern { rule, tool }),
            Some(pattern) => match subject(&tool) {
                Subject::Commands => Pattern::Command(RuleSource::new(verdict, pattern)),
                Subject::Paths => Pattern::Path(glob(pattern, &rule)?),
            },
        };
        Ok(Self { verdict, tool, pattern, origin })
    }

    /// The rule about commands that this is, if it is one.
    pub(crate) fn command(&self) -> Option<&RuleSource> {
        match &self.pattern {
            Pattern::Command(source) => Some(source),
            Pattern::Any | Pattern::Path(_) => None,
        }
    }

    /// Gives the part of the call that the rule matches, if it does. Rules about commands never match
    /// here: they are judged together.
    pub(crate) fn matches(&self, facts: &CallFacts<'_>) -> Option<Matched> {
        // A tool that is allowed is not allowed to do what another one is for.
        let is_meant = match self.verdict {
            Verdict::Allow => {
                self.tool == facts.governing || facts.pinned == Some(self.tool.as_str())
            }
            Verdict::Ask | Verdict::Deny => facts.is_about(&self.tool),
        };
        if !is_meant {
            return None;
        }
        match &self.pattern {
            Pattern::Any => Some(Matched { part: None }),
            Pattern::Command(_) => None,
            Pattern::Path(glob) => self.match_paths(glob, &facts.paths),
        }
    }

    fn match_paths(&self, glob: &GlobMatcher, paths: &[TouchedPath]) -> Option<Matched> {
        let hit = paths.iter().find(|path| glob.is_match(&path.path));
        let counts = match self.verdict {
            Verdict::Allow => {
                !paths.is_empty() && paths.iter().all(|path| glob.is_match(&path.path))
            }
            Verdict::Ask | Verdict::Deny => hit.is_some(),
        };
        counts.then(|| Matched { part: hit.map(|path| path.path.clone()) })
    }

    /// Adds examples that the rule must and must not match. Those of a rule about commands are checked when
    /// the rules are put together.
    pub fn with_examples(
        mut self,
        hits: Vec<String>,
        misses: Vec<String>,
    ) -> Result<Self, PolicyRuleError> {
        let rule = self.to_string();
        match &mut self.pattern {
            Pattern::Command(source) => {
                (source.matches, source.not_matches) = (hits, misses);
            }
            Pattern::Path(glob) => {
                if let Some(example) = hits.into_iter().find(|example| !glob.is_match(example)) {
                    return Err(PolicyRuleError::ExampleMissed { rule, example });
                }
                if let Some(example) = misses.into_iter().find(|example| glob.is_match(example)) {
                    return Err(PolicyRuleError::ExampleHit { rule, example });
                }
            }
            Pattern::Any if hits.is_empty() && misses.is_empty() => {}
            Pattern::Any => return Err(PolicyRuleError::NeedlessExample { rule }),
        }
        Ok(self)
    }
}

/// The part of a call that a rule matched; `None` for all of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Matched {
    pub(crate) part: Option<String>,
}

/// `*` stays within a directory, `**` does not.
fn glob(pattern: &str, rule: &str) -> Result<GlobMatcher, PolicyRuleError> {
    let glob = GlobBuilder::new(pattern).literal_separator(true).build();
    let bad = |error: globset::Error| PolicyRuleError::BadGlob {
        rule: rule.to_owned(),
        message: error.kind().to_string(),
    };
    glob.map(|glob| glob.compile_matcher()).map_err(bad)
}

impl fmt::Display for PolicyRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.pattern {
            Pattern::Any => f.write_str(&self.tool),
            Pattern::Path(glob) => write!(f, "{}: {}", self.tool, glob.glob()),
            Pattern::Command(source) => write!(f, "{}: {}", self.tool, source.pattern),
        }
    }
}
