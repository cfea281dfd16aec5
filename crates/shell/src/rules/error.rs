//! Errors of rules: what is wrong with a pattern, or which of its examples does not hold.

/// A pattern that cannot be read, or that would allow more than it says.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// There is no word in it.
    #[error("the pattern is empty")]
    Empty,
    /// The text ends within a quote, or behind a backslash.
    #[error("a quote or a backslash at the end is not closed")]
    Unclosed,
    /// A redirection without a file.
    #[error("`{0}` needs a file behind it")]
    NoFile(String),
    /// A word after a redirection.
    #[error("`{0}` stands behind a redirection; redirections come last")]
    BehindRedirection(String),
    /// A star within a word, which would not do what it looks like.
    #[error("`*` stands for whole words; in `{0}` quote it to mean the character")]
    StarInWord(String),
    /// A pipe, a list, a substitution or another construct of the shell.
    #[error(
        "`{0}` is shell syntax; write one rule for each command, and quote what is meant literally"
    )]
    ShellSyntax(String),
    /// An allow rule that begins with a star.
    #[error("an allow rule has to name its program")]
    NoProgram,
    /// A star at a place where a word decides what else runs.
    #[error("{0}; spell it out instead of `*`")]
    TooWide(String),
    /// A variable or option that chooses code to run.
    #[error("{0} decides which code runs, so no allow rule may set it")]
    Hook(String),
    /// A built-in command that changes how later commands are read.
    #[error("`{0}` changes the shell itself, so no rule can allow it")]
    ChangesShell(String),
    /// A program that only starts another one.
    #[error("`{0}` runs another command; write the rule for that command")]
    Wrapper(String),
    /// An example that the rule should match: the example, and the reason why it does not.
    #[error("the example `{0}` of `match` is not matched: {1}")]
    NotMatched(String, String),
    /// An example that the rule should not match.
    #[error("the example `{0}` of `not_match` is matched")]
    Matched(String),
}

/// A rule that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("rule `{pattern}`: {error}")]
pub struct RuleError {
    /// The rule as it was written.
    pub pattern: String,
    /// The fault in it.
    #[source]
    pub error: PatternError,
}
