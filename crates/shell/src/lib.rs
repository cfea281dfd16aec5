//! Danger: what a command could do, judged by its words before it runs (FJ-SHELL, FJ-GATE).
//!
//! Law: only a command whose every part is known to read, and nothing but read, is read-only. What
//! cannot be understood is never called harmless, and a name alone proves nothing: its options, the
//! commands that it starts and the files that it is redirected to are judged with it.

mod git;
mod options;
mod programs;
mod readers;
mod scripts;
mod shell;
#[cfg(test)]
mod tests;
mod wrappers;

use jm_types::RiskLevel;

/// How deep commands within commands are followed.
const DEEPEST: usize = 20;

/// From harmless to harmful: the worst part of a command is the command's own class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    ReadOnly,
    /// Nobody told us what it does.
    Unknown,
    Destructive,
}

/// A class, and the reason in words for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Danger {
    pub class: Class,
    pub why: String,
}

impl Danger {
    /// Of a program with its arguments, no shell between.
    pub fn of_argv(argv: &[String]) -> Self {
        let words: Vec<Word> = argv.iter().cloned().map(Word::Literal).collect();
        wrappers::judge(&words, 0)
    }

    /// Of a shell's command line.
    pub fn of_shell(script: &str) -> Self {
        shell::judge(script, 0)
    }

    /// Of variables that are set for a command.
    pub fn of_environment<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        worst(names.into_iter().map(assigning))
    }

    /// The worse of two.
    #[must_use]
    pub fn and(self, other: Danger) -> Self {
        if other.class > self.class { other } else { self }
    }

    pub fn needs_person(&self) -> bool {
        self.class != Class::ReadOnly
    }

    pub fn risk(&self) -> RiskLevel {
        match self.class {
            Class::ReadOnly => RiskLevel::Low,
            Class::Unknown => RiskLevel::Medium,
            Class::Destructive => RiskLevel::High,
        }
    }

    fn none() -> Self {
        Self { class: Class::ReadOnly, why: "only reads".to_owned() }
    }

    fn unknown(why: impl Into<String>) -> Self {
        Self { class: Class::Unknown, why: why.into() }
    }

    fn destructive(why: impl Into<String>) -> Self {
        Self { class: Class::Destructive, why: why.into() }
    }
}

/// The first of the worst.
fn worst(dangers: impl IntoIterator<Item = Danger>) -> Danger {
    dangers.into_iter().fold(Danger::none(), Danger::and)
}

/// A word of a command as far as it is known before it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Word {
    Literal(String),
    /// A variable, a pattern or another command's output: any text at all, also an option.
    Opaque,
}

impl Word {
    fn literal(&self) -> Option<&str> {
        match self {
            Word::Literal(text) => Some(text),
            Word::Opaque => None,
        }
    }

    fn is(&self, text: &str) -> bool {
        self.literal() == Some(text)
    }
}

/// Variables that change how a program shows things, never what it runs.
const HARMLESS_VARIABLES: &[&str] =
    &["LANG", "LANGUAGE", "TZ", "NO_COLOR", "COLUMNS", "LINES", "TERM", "CI", "RUST_BACKTRACE"];

fn assigning(name: &str) -> Danger {
    match HARMLESS_VARIABLES.contains(&name) || name.starts_with("LC_") {
        true => Danger::none(),
        false => Danger::unknown(format!("sets {name}, which may change what runs")),
    }
}
