//! Errors of rules: what is wrong with a pattern, or which of its examples does not hold.

/// A pattern that cannot be read, or that would allow more than it says.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    #[error("the pattern is empty")]
    Empty,
    #[error("a quote or a backslash at the end is not closed")]
    Unclosed,
    #[error("`{0}` needs a file behind it")]
    NoFile(String),
    #[error("`{0}` stands behind a redirection; redirections come last")]
    BehindRedirection(String),
    #[error("`*` stands for whole words; in `{0}` quote it to mean the character")]
    StarInWord(String),
    #[error(
        "`{0}` is shell syntax; write one rule for each command, and quote what is meant literally"
    )]
    ShellSyntax(String),
    #[error("an allow rule has to name its program")]
    NoProgram,
    #[error("{0}; spell it out instead of `*`")]
    TooWide(String),
    #[error("{0} decides which code runs, so no allow rule may set it")]
    Hook(String),
    #[error("`{0}` changes the shell itself, so no rule can allow it")]
    ChangesShell(String),
    #[error("`{0}` runs another command; write the rule for that command")]
    Wrapper(String),
    #[error("the example `{0}` of `match` is not matched: {1}")]
    NotMatched(String, String),
    #[error("the example `{0}` of `not_match` is matched")]
    Matched(String),
}

/// A rule that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("rule `{pattern}`: {error}")]
pub struct RuleError {
    pub pattern: String,
    #[source]
    pub error: PatternError,
}
