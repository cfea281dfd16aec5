//! Replacing one text by another, byte for byte.
//!
//! Law: `old` and `new` are literal. No character of either means anything but itself.

use std::fmt;

use memchr::{memchr_iter, memmem};

/// How many line numbers an error lists.
const LISTED_LINES: usize = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplaceWhich {
    /// The one place; several are an error.
    Only,
    All,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplaceError {
    EmptyOld,
    Same,
    NotFound,
    /// `lines` are the first lines, from 1, on which a hit starts.
    NotUnique {
        count: usize,
        lines: Vec<usize>,
    },
}

impl fmt::Display for ReplaceError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReplaceError::EmptyOld => write!(out, "the text to replace is empty"),
            ReplaceError::Same => write!(out, "the old and the new text are the same"),
            ReplaceError::NotFound => write!(out, "the text to replace is not in the file"),
            ReplaceError::NotUnique { count, lines } => {
                let listed: Vec<_> = lines.iter().map(usize::to_string).collect();
                let more = if lines.len() == LISTED_LINES { ", …" } else { "" };
                let listed = listed.join(", ");
                write!(out, "the text to replace occurs {count} times, on lines {listed}{more}")
            }
        }
    }
}

impl std::error::Error for ReplaceError {}

/// Replaces `old` by `new` and says how often. Hits are counted left to right without overlap.
pub fn replace_text(
    before: &[u8],
    old: &[u8],
    new: &[u8],
    which: ReplaceWhich,
) -> Result<(Vec<u8>, usize), ReplaceError> {
    if old.is_empty() {
        return Err(ReplaceError::EmptyOld);
    }
    if old == new {
        return Err(ReplaceError::Same);
    }
    let hits: Vec<usize> = memmem::find_iter(before, old).collect();
    match (hits.len(), which) {
        (0, _) => Err(ReplaceError::NotFound),
        (1, _) | (_, ReplaceWhich::All) => Ok((put(before, &hits, old.len(), new), hits.len())),
        (count, ReplaceWhich::Only) => {
            Err(ReplaceError::NotUnique { count, lines: lines_of(before, &hits) })
        }
    }
}

fn put(before: &[u8], hits: &[usize], length: usize, new: &[u8]) -> Vec<u8> {
    let mut after = Vec::with_capacity(before.len() - hits.len() * length + hits.len() * new.len());
    let mut copied = 0;
    for &at in hits {
        after.extend_from_slice(&before[copied..at]);
        after.extend_from_slice(new);
        copied = at + length;
    }
    after.extend_from_slice(&before[copied..]);
    after
}

fn lines_of(before: &[u8], hits: &[usize]) -> Vec<usize> {
    let mut lines = Vec::new();
    let (mut line, mut counted) = (1, 0);
    for &at in hits {
        line += memchr_iter(b'\n', &before[counted..at]).count();
        counted = at;
        if lines.last() != Some(&line) {
            lines.push(line);
        }
        if lines.len() == LISTED_LINES {
            break;
        }
    }
    lines
}
