//! What can be wrong with the text of a patch, whatever file it is for.
//!
//! Law: one variant for each mistake, so that the hint can say exactly what to write instead.

use std::fmt;

use super::difference::clip;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Syntax {
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

/// Which block of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Block {
    Find,
    New,
}

impl Syntax {
    pub(super) fn hint(&self) -> String {
        let hint = match self {
            Syntax::MissingHeader => "start the patch with a line `LP1`",
            Syntax::MissingEnd => "finish the patch with a line `END`",
            Syntax::TextAfterEnd => "only blank lines and comments may follow `END`",
            Syntax::UnknownOperation(_) => {
                "between blocks write F, R, I, P, E, T, B, N or END; did a block end too early?"
            }
            Syntax::OutsideSection => "name the file first, with `F <path>`",
            Syntax::EmptyPath => "write `F <path>`",
            Syntax::UnquotedPath(_) => r#"quote it: `F "a path"`"#,
            Syntax::UnclosedQuote | Syntax::UnknownEscape(_) => {
                r#"inside quotes write `\"` for a quote and `\\` for a backslash"#
            }
            Syntax::TextAfterPath(_) | Syntax::TextAfterOperation(_) => {
                "put nothing else on that line"
            }
            Syntax::InvalidOccurrence(_) => {
                "write a plain number from 1 after a space, such as `R 2`"
            }
            Syntax::InvalidFinalNewline(_) => "write `N +` or `N -`",
            Syntax::UnclosedBlock(_) => "end the block with a line that is a single `.`",
            Syntax::UnstuffedDot(text) => {
                return format!("content that begins with a dot takes one more: `.{}`", clip(text));
            }
            Syntax::LoneCarriageReturn => "leave the carriage return out",
            Syntax::EmptyFind => "put at least one line into the find block",
        };
        hint.to_owned()
    }
}

impl fmt::Display for Syntax {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Syntax::MissingHeader => write!(out, "the first line is not `LP1`, alone"),
            Syntax::MissingEnd => write!(out, "the patch has no `END`"),
            Syntax::TextAfterEnd => write!(out, "text after `END`"),
            Syntax::UnknownOperation(text) => write!(out, "unknown operation `{}`", clip(text)),
            Syntax::OutsideSection => write!(out, "an operation before the first `F`"),
            Syntax::EmptyPath => write!(out, "empty path"),
            Syntax::UnquotedPath(text) => {
                write!(out, "a bare path with white space or a quote in it: `{}`", clip(text))
            }
            Syntax::UnclosedQuote => write!(out, "the path's closing quote is missing"),
            Syntax::UnknownEscape(escaped) => {
                write!(out, "unknown escape `\\{}` in the path", clip(&escaped.to_string()))
            }
            Syntax::TextAfterPath(text) => write!(out, "text after the path: `{}`", clip(text)),
            Syntax::InvalidOccurrence(text) => write!(out, "invalid occurrence `{}`", clip(text)),
            Syntax::TextAfterOperation(text) => {
                write!(out, "text after the operation: `{}`", clip(text))
            }
            Syntax::InvalidFinalNewline(text) => {
                write!(out, "`N` takes `+` or `-`, not `{}`", clip(text))
            }
            Syntax::UnclosedBlock(Block::Find) => write!(out, "the find block has no end"),
            Syntax::UnclosedBlock(Block::New) => write!(out, "the block of new lines has no end"),
            Syntax::UnstuffedDot(text) => {
                write!(out, "the line `{}` begins with a single dot", clip(text))
            }
            Syntax::LoneCarriageReturn => write!(out, "a carriage return inside a line"),
            Syntax::EmptyFind => write!(out, "the find block is empty"),
        }
    }
}
