//! Replacing whole lines by their numbers.
//!
//! Law: new lines end as their neighbours do, and the file keeps its final newline or the lack of
//! one.

use std::fmt;

use super::{Splice, Terminator, Text, append, index, splice};

/// The reason why a range of lines cannot be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineRangeError {
    /// Lines are counted from 1.
    Zero,
    /// The last line comes before the first.
    Reversed {
        /// The line that was asked for first, from 1.
        first: usize,
        /// The line that was asked for last, from 1.
        last: usize,
    },
    /// The text has fewer lines.
    BeyondEnd {
        /// The line that was asked for, from 1.
        line: usize,
        /// Lines that there are.
        line_count: usize,
    },
}

impl fmt::Display for LineRangeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LineRangeError::Zero => write!(out, "line 0: lines start at 1"),
            LineRangeError::Reversed { first, last } => {
                write!(out, "lines {first} to {last}: the first comes after the last")
            }
            LineRangeError::BeyondEnd { line, line_count } => {
                write!(out, "line {line}: the file has {line_count} lines")
            }
        }
    }
}

impl std::error::Error for LineRangeError {}

/// Replaces lines `first` to `last`, from 1 and both included, by the lines of `new`.
///
/// `first` one past the end and `last` one less inserts at the end. A file without lines has no
/// habits to keep, so there `new` stands as it is.
pub fn replace_lines(
    text: &Text,
    first: usize,
    last: usize,
    new: &[u8],
) -> Result<Vec<u8>, LineRangeError> {
    if first == text.line_count() + 1 && last == text.line_count() {
        return Ok(insert_at_end(text, new));
    }
    check_range(text, first, last)?;
    let terminator = terminator_at(text, first, new).bytes();
    let new = contents(new);
    let mut block = new.join(terminator);
    let start = text.lines[first - 1].start;
    let mut range = start..text.lines[last - 1].next();
    if last < text.line_count() || text.ends_with_newline() {
        block.extend_from_slice(if new.is_empty() { b"" } else { terminator });
    } else if new.is_empty() && first > 1 {
        // The line before becomes the last one, and the last one had no terminator.
        range.start = text.lines[first - 2].end;
    }
    Ok(splice(&text.bytes, &[Splice { range, new: block }]))
}

fn check_range(text: &Text, first: usize, last: usize) -> Result<(), LineRangeError> {
    let line_count = text.line_count();
    if first == 0 {
        return Err(LineRangeError::Zero);
    }
    if first > last {
        return Err(LineRangeError::Reversed { first, last });
    }
    if last > line_count {
        return Err(LineRangeError::BeyondEnd { line: first.max(line_count + 1), line_count });
    }
    Ok(())
}

fn insert_at_end(text: &Text, new: &[u8]) -> Vec<u8> {
    if text.line_count() == 0 {
        return append(text, new);
    }
    let terminator = terminator_at(text, text.line_count(), new).bytes();
    let mut after = text.bytes.clone();
    for line in contents(new) {
        let (before, behind) =
            if text.ends_with_newline() { (&b""[..], terminator) } else { (terminator, &b""[..]) };
        after.extend([before, line, behind].concat());
    }
    after
}

/// The terminator of a new line at `first`: as the lines there have it, else as `new` itself, else LF.
fn terminator_at(text: &Text, first: usize, new: &[u8]) -> Terminator {
    // Only the very last line can lack a terminator, so the line before it settles the matter.
    let before = text.lines[..first].iter().rev().take(2);
    before
        .chain(index(new, 0).first())
        .map(|line| line.terminator)
        .find(|terminator| *terminator != Terminator::None)
        .unwrap_or(Terminator::Lf)
}

fn contents(new: &[u8]) -> Vec<&[u8]> {
    index(new, 0).iter().map(|line| &new[line.start..line.end]).collect()
}
