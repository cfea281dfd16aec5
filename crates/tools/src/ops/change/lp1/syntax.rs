//! The faults in the text of a patch, whatever file it is for.
//!
//! Law: one variant for each mistake, so that the hint can say exactly what to write instead.

use std::fmt;

use super::difference::clip;

#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "each variant's message says it")]
pub enum SyntaxFault {
    MissingHeader,
    MissingEnd,
    TextAfterEnd,
    UnknownOperation(String),
    OutsideSection,
    EmptyPath,
    UnquotedPath(String),
    UnclosedQuote,
    UnknownEscape(char),
    TextAfterPath(String),
    InvalidOccurrence(String),
    TextAfterOperation(String),
    InvalidFinalNewline(String),
    UnclosedBlock(Block),
    UnstuffedDot(String),
    LoneCarriageReturn,
    EmptyFind,
}

/// A block of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the keyword of the patch says it")]
pub enum Block {
    Find,
    New,
}

impl SyntaxFault {
    pub(super) fn hint(&self) -> String {
        let hint = match self {
            SyntaxFault::MissingHeader => "start the patch with a line `LP1`",
            SyntaxFault::MissingEnd => "finish the patch with a line `END`",
            SyntaxFault::TextAfterEnd => "only blank lines and comments may follow `END`",
            SyntaxFault::UnknownOperation(_) => {
                "between blocks write F, R, I, P, E, T, B, N or END; did a block end too early?"
            }
            SyntaxFault::OutsideSection => "name the file first, with `F <path>`",
            SyntaxFault::EmptyPath => "write `F <path>`",
            SyntaxFault::UnquotedPath(_) => r#"quote it: `F "a path"`"#,
            SyntaxFault::UnclosedQuote | SyntaxFault::UnknownEscape(_) => {
                r#"inside quotes write `\"` for a quote and `\\` for a backslash"#
            }
            SyntaxFault::TextAfterPath(_) | SyntaxFault::TextAfterOperation(_) => {
                "put nothing else on that line"
            }
            SyntaxFault::InvalidOccurrence(_) => {
                "write a plain number from 1 after a space, such as `R 2`"
            }
            SyntaxFault::InvalidFinalNewline(_) => "write `N +` or `N -`",
            SyntaxFault::UnclosedBlock(_) => "end the block with a line that is a single `.`",
            SyntaxFault::UnstuffedDot(text) => {
                return format!("content that begins with a dot takes one more: `.{}`", clip(text));
            }
            SyntaxFault::LoneCarriageReturn => "leave the carriage return out",
            SyntaxFault::EmptyFind => "put at least one line into the find block",
        };
        hint.to_owned()
    }
}

impl fmt::Display for SyntaxFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SyntaxFault::MissingHeader => write!(out, "the first line is not `LP1`, alone"),
            SyntaxFault::MissingEnd => write!(out, "the patch has no `END`"),
            SyntaxFault::TextAfterEnd => write!(out, "text after `END`"),
            SyntaxFault::UnknownOperation(text) => {
                write!(out, "unknown operation `{}`", clip(text))
            }
            SyntaxFault::OutsideSection => write!(out, "an operation before the first `F`"),
            SyntaxFault::EmptyPath => write!(out, "empty path"),
            SyntaxFault::UnquotedPath(text) => {
                write!(out, "a bare path with white space or a quote in it: `{}`", clip(text))
            }
            SyntaxFault::UnclosedQuote => write!(out, "the path's closing quote is missing"),
            SyntaxFault::UnknownEscape(escaped) => {
                write!(out, "unknown escape `\\{}` in the path", clip(&escaped.to_string()))
            }
            SyntaxFault::TextAfterPath(text) => {
                write!(out, "text after the path: `{}`", clip(text))
            }
            SyntaxFault::InvalidOccurrence(text) => {
                write!(out, "invalid occurrence `{}`", clip(text))
            }
            SyntaxFault::TextAfterOperation(text) => {
                write!(out, "text after the operation: `{}`", clip(text))
            }
            SyntaxFault::InvalidFinalNewline(text) => {
                write!(out, "`N` takes `+` or `-`, not `{}`", clip(text))
            }
            SyntaxFault::UnclosedBlock(Block::Find) => write!(out, "the find block has no end"),
            SyntaxFault::UnclosedBlock(Block::New) => {
                write!(out, "the block of new lines has no end")
            }
            SyntaxFault::UnstuffedDot(text) => {
                write!(out, "the line `{}` begins with a single dot", clip(text))
            }
            SyntaxFault::LoneCarriageReturn => write!(out, "a carriage return inside a line"),
            SyntaxFault::EmptyFind => write!(out, "the find block is empty"),
        }
    }
}
