//! Brackets of a text that do not balance.

use std::fmt;

use serde::Serialize;

/// One thing that keeps the text from being read, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Imbalance {
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// The kind, for programs.
    #[serde(rename = "type")]
    pub fault: Fault,
    /// The bracket that would close the innermost open one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<char>,
    /// The bracket that stands there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<char>,
    /// The fault in one sentence.
    pub message: String,
    /// The next step for the writer.
    pub suggestion: String,
}

/// Faults that keep a Lisp reader from reading on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// A closing bracket without an opening one.
    ExtraParen,
    /// A closing bracket of another kind than the open one.
    UnmatchedParen,
    /// An opening bracket without its end.
    UnclosedParen,
    /// A string without its closing quote.
    StringUnclosed,
    /// A backslash or question mark with nothing behind it.
    CharacterUnfinished,
    /// A quote with nothing behind it.
    NothingQuoted,
}

impl fmt::Display for Imbalance {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}: {}", self.line, self.column, self.message)
    }
}
