//! Rules: `TOOL` or `TOOL: PATTERN`, with the verdict of the list they stand in.
//!
//! Law: a rule allows a call only if it matches all that the call touches; it asks about or denies a call
//! if it matches any of it. The strictest rule wins, wherever it stands.

use std::fmt;

use globset::{GlobBuilder, GlobMatcher};
use jm_shell::RuleSource;
use jm_types::hosts::{parse_port, split_port};
use jm_types::{HostRule, Verdict};
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
    /// Hosts that commands reach. The egress proxy judges them, when a command asks for one.
    Host(HostRule),
}

/// The word that stands in place of a tool in a rule about hosts.
pub const HOST_RULE: &str = "host";

/// A rule that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "each variant's message says it")]
pub enum PolicyRuleError {
    #[error("the rule `{rule}` names no tool; write TOOL or TOOL: PATTERN")]
    NoTool { rule: String },
    #[error("the rule `{rule}` has an empty pattern; write `{tool}` alone for every call of it")]
    EmptyPattern { rule: String, tool: String },
    #[error("the rule `{rule}` names no host; write `host: example.org` or `host: *.example.org`")]
    NoHostNamed { rule: String },
    #[error("the rule `{rule}`: {message}")]
    BadHost { rule: String, message: String },
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
    /// A host, with a port if it is not a usual one.
    Hosts,
}

/// The port of a host that is written without one.
const USUAL_PORT: u16 = 443;

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
            None if tool == HOST_RULE => return Err(PolicyRuleError::NoHostNamed { rule }),
            None => Pattern::Any,
            Some("") => return Err(PolicyRuleError::EmptyPattern { rule, tool }),
            Some(pattern) => match subject(&tool) {
                Subject::Commands => Pattern::Command(RuleSource::new(verdict, pattern)),
                Subject::Paths => Pattern::Path(glob(pattern, &rule)?),
                Subject::Hosts => Pattern::Host(host(pattern, verdict, &rule)?),
            },
        };
        Ok(Self { verdict, tool, pattern, origin })
    }

    /// The rule about commands that this is, if it is one.
    pub(crate) fn command(&self) -> Option<&RuleSource> {
        match &self.pattern {
            Pattern::Command(source) => Some(source),
            Pattern::Any | Pattern::Path(_) | Pattern::Host(_) => None,
        }
    }

    /// The hosts that the rule is about, if it is about hosts.
    pub fn host(&self) -> Option<&HostRule> {
        match &self.pattern {
            Pattern::Host(host) => Some(host),
            Pattern::Any | Pattern::Path(_) | Pattern::Command(_) => None,
        }
    }

    /// Gives the part of the call that the rule matches, if it does. Rules about commands never match
    /// here: they are judged together. Nor do rules about hosts, which no call names beforehand.
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
            Pattern::Command(_) | Pattern::Host(_) => None,
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
            Pattern::Host(host) => {
                let is_hit = |example: &String| host_matches(host, example);
                if let Some(example) = hits.into_iter().find(|example| !is_hit(example)) {
                    return Err(PolicyRuleError::ExampleMissed { rule, example });
                }
                if let Some(example) = misses.into_iter().find(is_hit) {
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

/// Reads a host. A rule that asks or denies means every port, unless it names one.
fn host(pattern: &str, verdict: Verdict, rule: &str) -> Result<HostRule, PolicyRuleError> {
    let parsed = pattern.parse::<HostRule>().map_err(|error| PolicyRuleError::BadHost {
        rule: rule.to_owned(),
        message: error.to_string(),
    })?;
    Ok(match verdict {
        Verdict::Allow => parsed,
        Verdict::Ask | Verdict::Deny => parsed.as_exception(),
    })
}

/// Tells whether a rule is about a host as a person writes it; 443 is the port where none is written.
fn host_matches(rule: &HostRule, written: &str) -> bool {
    let Some((host, port)) = split_port(written.trim()) else { return false };
    let port = port.map_or(Some(USUAL_PORT), parse_port);
    matches!((host.parse(), port), (Ok(host), Some(port)) if rule.admits(&host, port))
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
            Pattern::Host(host) => write!(f, "{}: {host}", self.tool),
        }
    }
}
