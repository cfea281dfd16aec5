//! Rules: `TOOL` or `TOOL: PATTERN`, with the verdict of the list they stand in.
//!
//! Law: a rule allows a call only if it matches all that the call touches; it asks about or denies a call
//! if it matches any of it. The strictest rule wins, wherever it stands.

use std::fmt;

use globset::{GlobBuilder, GlobMatcher};
use jm_types::Verdict;
use thiserror::Error;

use crate::decision::RuleOrigin;
use crate::facts::{CallFacts, TouchedPath};

/// A rule as it was written.
#[derive(Debug, Clone)]
pub struct Rule {
    pub verdict: Verdict,
    pub tool: String,
    pattern: Pattern,
    pub origin: RuleOrigin,
}

#[derive(Debug, Clone)]
enum Pattern {
    /// Every call of the tool.
    Any,
    /// Paths relative to the workspace root.
    Path(GlobMatcher),
    /// A command, judged as a set of rules by [`crate::commands`].
    Command(String),
}

/// A rule that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RuleError {
    #[error("the rule `{rule}` names no tool; write TOOL or TOOL: PATTERN")]
    NoTool { rule: String },
    #[error("the rule `{rule}` has an empty pattern; write `{tool}` alone for every call of it")]
    EmptyPattern { rule: String, tool: String },
    #[error("the rule `{rule}` is not a valid path pattern: {message}")]
    BadGlob { rule: String, message: String },
    #[error("the rule `{rule}`: {message}")]
    BadCommand { rule: String, message: String },
    #[error("the rule `{rule}` must match its example `{example}`, and does not")]
    ExampleMissed { rule: String, example: String },
    #[error("the rule `{rule}` must not match its example `{example}`, and does")]
    ExampleHit { rule: String, example: String },
}

/// What the pattern of a tool's rules speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    Paths,
    Commands,
}

impl Rule {
    /// Reads `TOOL` or `TOOL: PATTERN`.
    pub fn parse(
        text: &str,
        verdict: Verdict,
        origin: RuleOrigin,
        subject: impl Fn(&str) -> Subject,
    ) -> Result<Self, RuleError> {
        let rule = text.trim().to_owned();
        let (tool, pattern) = match rule.split_once(':') {
            Some((tool, pattern)) => (tool.trim(), Some(pattern.trim())),
            None => (rule.as_str(), None),
        };
        if tool.is_empty() || tool.contains(char::is_whitespace) {
            return Err(RuleError::NoTool { rule });
        }
        let tool = tool.to_owned();
        let pattern = match pattern {
            None => Pattern::Any,
            Some("") => return Err(RuleError::EmptyPattern { rule, tool }),
            Some(pattern) => match subject(&tool) {
                Subject::Commands => Pattern::Command(pattern.to_owned()),
                Subject::Paths => Pattern::Path(glob(pattern, &rule)?),
            },
        };
        Ok(Self { verdict, tool, pattern, origin })
    }

    /// The pattern, if this is a rule about commands.
    pub fn command_pattern(&self) -> Option<&str> {
        match &self.pattern {
            Pattern::Command(pattern) => Some(pattern),
            Pattern::Any | Pattern::Path(_) => None,
        }
    }

    /// Gives the part of the call that the rule matches, if it does. Rules about commands never match
    /// here: they are judged together.
    pub(crate) fn matches(&self, facts: &CallFacts<'_>) -> Option<Matched> {
        if self.tool != facts.tool && self.tool != facts.governing {
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

    /// Checks the examples that a rule about paths carries.
    pub fn check_path_examples(&self, hits: &[String], misses: &[String]) -> Result<(), RuleError> {
        let Pattern::Path(glob) = &self.pattern else { return Ok(()) };
        let rule = self.to_string();
        if let Some(example) = hits.iter().find(|example| !glob.is_match(example)) {
            return Err(RuleError::ExampleMissed { rule, example: example.clone() });
        }
        match misses.iter().find(|example| glob.is_match(example)) {
            Some(example) => Err(RuleError::ExampleHit { rule, example: example.clone() }),
            None => Ok(()),
        }
    }
}

/// The part of a call that a rule matched; `None` for all of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Matched {
    pub(crate) part: Option<String>,
}

/// `*` stays within a directory, `**` does not.
fn glob(pattern: &str, rule: &str) -> Result<GlobMatcher, RuleError> {
    let glob = GlobBuilder::new(pattern).literal_separator(true).build();
    let bad = |error: globset::Error| RuleError::BadGlob {
        rule: rule.to_owned(),
        message: error.kind().to_string(),
    };
    glob.map(|glob| glob.compile_matcher()).map_err(bad)
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.pattern {
            Pattern::Any => f.write_str(&self.tool),
            Pattern::Path(glob) => write!(f, "{}: {}", self.tool, glob.glob()),
            Pattern::Command(pattern) => write!(f, "{}: {pattern}", self.tool),
        }
    }
}
