//! The decision on a command line: every part is judged, and the strictest verdict wins.

use jm_types::Verdict;

use super::matching::{CommandPlace, CompiledRule, Mismatch, WideMatch, base_name, changes_shell};
use super::place::{Readers, RuleContext, place_of};
use super::set::CommandRules;
use crate::line::{CommandLine, CommandPart, PartKind};
use crate::syntax::SimpleCommand;
use crate::variables::needs_no_spelling;
use crate::word::{ShellWord, show_words};

/// The verdict on a line, with one reason for each of its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandDecision {
    /// The strictest verdict of all parts.
    pub verdict: Verdict,
    /// In the order of [`CommandLine::parts`].
    pub parts: Vec<PartDecision>,
}

/// The verdict on one part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartDecision {
    /// The verdict on this part alone.
    pub verdict: Verdict,
    /// The rule, or the lack of one, that led to it.
    pub because: Because,
}

/// The reason for a verdict. Rules are named by their place among the sources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Because {
    /// The rule matches.
    Rule(usize),
    /// It only reads.
    Reads,
    /// The shell does it itself and nothing comes of it: `cd` in the workspace, `x=1`.
    Idle,
    /// A part of what the rule for the part before it covers.
    Covered,
    /// No rule matches.
    NoRule {
        /// The nearest rule, and why it does not match.
        near: Option<(usize, String)>,
    },
    /// Cannot be understood before it runs.
    Opaque(String),
    /// Cannot be understood, and holds the words of a rule that forbids.
    Named(usize),
    /// May turn out to be what the rule forbids or asks about.
    MayMatch(usize),
}

impl CommandRules {
    /// Decides on a line. A line without parts runs nothing and is allowed.
    pub fn decide(&self, line: &CommandLine, context: &RuleContext<'_>) -> CommandDecision {
        let place = place_of(line, context);
        let decide = |part: &CommandPart| {
            let (verdict, because) = self.decide_part(part, &place, context);
            PartDecision { verdict, because }
        };
        let parts: Vec<PartDecision> = line.parts().iter().map(decide).collect();
        let verdict = parts.iter().map(|part| part.verdict).max().unwrap_or(Verdict::Allow);
        CommandDecision { verdict, parts }
    }

    fn decide_part(
        &self,
        part: &CommandPart,
        place: &CommandPlace,
        context: &RuleContext<'_>,
    ) -> (Verdict, Because) {
        match &part.kind {
            PartKind::Opaque { text, why } => self.decide_opaque(text, why),
            PartKind::Covered(command) => {
                self.strictest(command).unwrap_or((Verdict::Allow, Because::Covered))
            }
            PartKind::Runs(command) => {
                let name = command.words.first().and_then(ShellWord::literal).unwrap_or_default();
                let strict = self.strictest(command);
                if strict.is_none() && changes_shell(name) {
                    let why = format!("`{name}` changes the shell itself");
                    return self.decide_opaque(&show_words(&command.words), &why);
                }
                strict.unwrap_or_else(|| self.allow(part, command, place, context))
            }
        }
    }

    /// A text that cannot be understood is a person's to allow, and forbidden where it names what a
    /// rule forbids.
    fn decide_opaque(&self, text: &str, why: &str) -> (Verdict, Because) {
        let forbids = |rule: &CompiledRule| rule.verdict == Verdict::Deny && rule.is_named_in(text);
        match self.rules.iter().position(forbids) {
            Some(index) => (Verdict::Deny, Because::Named(index)),
            None => (Verdict::Ask, Because::Opaque(why.to_owned())),
        }
    }

    /// The strictest of the rules that forbid or ask about a command.
    fn strictest(&self, command: &SimpleCommand) -> Option<(Verdict, Because)> {
        let program = command.words.first().and_then(ShellWord::literal).unwrap_or_default();
        let verdict_of = |(index, rule): (usize, &CompiledRule)| match rule.matches_widely(command)
        {
            WideMatch::Yes => Some((rule.verdict, Because::Rule(index))),
            WideMatch::Maybe => Some((Verdict::Ask, Because::MayMatch(index))),
            WideMatch::No => None,
        };
        let rules =
            self.about(base_name(program)).filter(|(_, rule)| rule.verdict != Verdict::Allow);
        // The first of the strictest.
        rules.filter_map(verdict_of).reduce(|one, other| if other.0 > one.0 { other } else { one })
    }

    fn allow(
        &self,
        part: &CommandPart,
        command: &SimpleCommand,
        place: &CommandPlace,
        context: &RuleContext<'_>,
    ) -> (Verdict, Because) {
        let program = command.words.first().and_then(ShellWord::literal).unwrap_or_default();
        let mut near: Option<(usize, Mismatch)> = None;
        let rules =
            self.about(base_name(program)).filter(|(_, rule)| rule.verdict == Verdict::Allow);
        for (index, rule) in rules {
            match rule.matches_narrowly(command, place) {
                Ok(()) => return (Verdict::Allow, Because::Rule(index)),
                Err(Mismatch::Words) => {}
                Err(mismatch) => near = near.or(Some((index, mismatch))),
            }
        }
        if is_idle(part, command, place) {
            return (Verdict::Allow, Because::Idle);
        }
        // An input of which the name is not known may be a socket.
        let only_reads = !part.danger.needs_person() && command.redirections.is_plain();
        if context.readers == Readers::Allowed && only_reads {
            return (Verdict::Allow, Because::Reads);
        }
        let near = near.map(|(index, mismatch)| (index, tell(&mismatch)));
        (Verdict::Ask, Because::NoRule { near })
    }
}

/// Done by the shell itself, with no effect on what else runs.
fn is_idle(part: &CommandPart, command: &SimpleCommand, place: &CommandPlace) -> bool {
    let is_cd = command.words.first().is_some_and(|word| word.is("cd"))
        && *place == CommandPlace::Inside
        && command.redirections.is_plain()
        && command
            .environment
            .iter()
            .all(|(name, value)| needs_no_spelling(name, value.as_deref()));
    is_cd || (command.words.is_empty() && !part.danger.needs_person())
}

/// The reason why a near rule does not match, for a person.
fn tell(mismatch: &Mismatch) -> String {
    match mismatch {
        Mismatch::Words => "it has other words".to_owned(),
        Mismatch::Acting(acting) => {
            format!("`{}` {} and is not spelt out in the rule", acting.word, acting.act.tell())
        }
        Mismatch::Unknown => {
            "an argument is only known when it runs and may be an option".to_owned()
        }
        Mismatch::Script(why) => why.clone(),
        Mismatch::Variable(name) if name == "(unset)" => {
            "`env` removes variables, which no rule spells out".to_owned()
        }
        Mismatch::Variable(name) => format!("it sets {name}, which the rule does not spell out"),
        Mismatch::File(file) => format!("`{file}` uses a file and is not spelt out in the rule"),
        Mismatch::Place(why) => why.clone(),
    }
}

impl CommandDecision {
    /// Some part was decided by a rule.
    pub(crate) fn is_matched(&self) -> bool {
        self.parts.iter().any(|part| matches!(part.because, Because::Rule(_)))
    }

    /// One line for each part that was not plainly harmless.
    pub fn explain(&self, line: &CommandLine, rules: &CommandRules) -> Vec<String> {
        let name = |index: usize| rules.pattern(index).unwrap_or_default().to_owned();
        let told = self.parts.iter().zip(line.parts()).filter_map(|(decision, part)| {
            let verdict = match decision.verdict {
                Verdict::Allow => "allows",
                Verdict::Ask => "asks about",
                Verdict::Deny => "denies",
            };
            let shown = part.shown();
            Some(match &decision.because {
                Because::Rule(index) => format!("rule `{}` {verdict} `{shown}`", name(*index)),
                Because::Reads => format!("`{shown}` only reads"),
                Because::Idle | Because::Covered => return None,
                Because::NoRule { near: None } => format!("no rule for `{shown}`"),
                Because::NoRule { near: Some((index, why)) } => {
                    format!("no rule for `{shown}`; `{}` does not match: {why}", name(*index))
                }
                Because::Opaque(why) => format!("`{shown}` cannot be judged: {why}"),
                Because::Named(index) => {
                    format!(
                        "`{shown}` cannot be judged, and holds what rule `{}` denies",
                        name(*index)
                    )
                }
                Because::MayMatch(index) => {
                    format!("`{shown}` may become what rule `{}` is about", name(*index))
                }
            })
        });
        told.collect()
    }
}
