//! The errors of patches that cannot be read or applied.
//!
//! Law: an error says where (patch line, path, operation) and what; what to do next is its hint.
//! Neither grows with the file or the patch.

use std::fmt;

use super::difference::clip;
use super::nearest::Nearest;
use super::syntax::SyntaxFault;

/// The most line numbers that an error lists.
const LISTED_LINES: usize = 10;

/// A fault of a patch, with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchError {
    /// The line of the patch, from 1.
    pub line: usize,
    /// The section's path, as written.
    pub path: Option<String>,
    /// The number of the operation in its section, from 1.
    pub operation: Option<usize>,
    /// The fault.
    pub problem: Problem,
}

/// The kinds of fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// The text is not a patch.
    Syntax(SyntaxFault),
    /// The file cannot be patched by lines.
    File(Unpatchable),
    /// The find block does not say which lines.
    Find(Miss),
}

#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "each variant's message says it")]
pub enum Unpatchable {
    Missing,
    WideEncoding,
    LoneCarriageReturn { line: usize },
    MixedNewlines { lf: usize, crlf: usize, first_differing_line: usize },
    ForeignByte { offset: usize },
}

#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "each variant's message says it")]
pub enum Miss {
    NoMatch { nearest: Option<Nearest>, already_applied: bool },
    NotUnique { hits: Hits },
    OutOfRange { occurrence: usize, hits: Hits },
}

/// The number of matches of a find block, and the first of their lines, from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hits {
    /// All matches.
    pub count: usize,
    /// The first few of their lines.
    pub lines: Vec<usize>,
}

impl Hits {
    /// From window starts that count from 0.
    pub(super) fn new(starts: &[usize]) -> Hits {
        let lines = starts.iter().take(LISTED_LINES).map(|start| start + 1).collect();
        Hits { count: starts.len(), lines }
    }
}

impl PatchError {
    /// The remedy, where there is one.
    pub fn hint(&self) -> Option<String> {
        match &self.problem {
            Problem::Syntax(syntax) => Some(syntax.hint()),
            Problem::File(file) => file.hint(),
            Problem::Find(miss) => Some(miss.hint()),
        }
    }
}

impl Unpatchable {
    fn hint(&self) -> Option<String> {
        let hint = match self {
            Unpatchable::Missing => "create it with `T`, or correct the path",
            Unpatchable::WideEncoding => return None,
            Unpatchable::LoneCarriageReturn { .. } | Unpatchable::MixedNewlines { .. } => {
                "edit this file with another tool, or make its newlines one kind first"
            }
            Unpatchable::ForeignByte { .. } => "keep the new text to ASCII",
        };
        Some(hint.to_owned())
    }
}

impl Miss {
    fn hint(&self) -> String {
        match self {
            Miss::NoMatch { already_applied: true, .. } => {
                "already applied? The new text is in the file: read it before patching again".into()
            }
            Miss::NoMatch { nearest: Some(nearest), .. } => nearest.hint(),
            Miss::NoMatch { nearest: None, .. } => {
                "read the file again: a find block is whole lines, copied exactly".into()
            }
            Miss::NotUnique { .. } => {
                "add an occurrence number after the letter, such as 2, or more lines to the find block".into()
            }
            Miss::OutOfRange { hits: Hits { count: 1, .. }, .. } => {
                "leave the occurrence number out".into()
            }
            Miss::OutOfRange { hits, .. } => format!("use a number from 1 to {}", hits.count),
        }
    }
}

impl fmt::Display for PatchError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "patch line {}", self.line)?;
        if let Some(path) = &self.path {
            write!(out, ", {}", clip(path))?;
        }
        if let Some(number) = self.operation {
            write!(out, ", operation {number}")?;
        }
        match &self.problem {
            Problem::Syntax(syntax) => write!(out, ": {syntax}"),
            Problem::File(file) => write!(out, ": {file}"),
            // Lines count the text that this operation meets, which may not be the file on disk.
            Problem::Find(miss) if self.operation > Some(1) => {
                write!(out, " (on the result of those before it): {miss}")
            }
            Problem::Find(miss) => write!(out, ": {miss}"),
        }
    }
}

impl std::error::Error for PatchError {}

impl fmt::Display for Unpatchable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unpatchable::Missing => write!(out, "no such file"),
            Unpatchable::WideEncoding => {
                write!(out, "the file is UTF-16 or UTF-32, which has no lines of bytes")
            }
            Unpatchable::LoneCarriageReturn { line } => {
                write!(out, "line {line} of the file holds a carriage return that ends no line")
            }
            Unpatchable::MixedNewlines { lf, crlf, first_differing_line } => write!(
                out,
                "mixed newlines: {lf} LF and {crlf} CRLF, line {first_differing_line} is the \
                 first that differs"
            ),
            Unpatchable::ForeignByte { offset } => write!(
                out,
                "the file is not UTF-8 (first at byte {offset}) and the new text is not ASCII"
            ),
        }
    }
}

impl fmt::Display for Miss {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Miss::NoMatch { nearest: None, .. } => {
                write!(out, "the find block matches nothing, and nothing comes near it")
            }
            Miss::NoMatch { nearest: Some(nearest), .. } => {
                write!(out, "the find block matches nothing; {nearest}")
            }
            Miss::NotUnique { hits } => write!(out, "the find block matches {hits}"),
            Miss::OutOfRange { occurrence, hits } => {
                write!(out, "there is no occurrence {occurrence}: the find block matches {hits}")
            }
        }
    }
}

impl fmt::Display for Hits {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listed: Vec<_> = self.lines.iter().map(usize::to_string).collect();
        match listed.as_slice() {
            [] => write!(out, "nowhere"),
            [line] => write!(out, "once, at line {line}"),
            [first @ .., last] if self.count == listed.len() => {
                write!(out, "{} times, at lines {} and {last}", self.count, first.join(", "))
            }
            _ => write!(out, "{} times, at lines {}, …", self.count, listed.join(", ")),
        }
    }
}
