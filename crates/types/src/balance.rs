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
    #[serde(rename = "type")]
    pub fault: Fault,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<char>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<char>,
    pub message: String,
    pub suggestion: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    ExtraParen,
    UnmatchedParen,
    UnclosedParen,
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
