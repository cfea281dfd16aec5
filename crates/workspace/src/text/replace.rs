//! Replacing one text by another, byte for byte.
//!
//! Law: `old` and `new` are literal. No character of either means anything but itself.

use jm_types::replace::{LISTED_LINES, ReplaceError};
use memchr::{memchr_iter, memmem};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplaceWhich {
    /// The one place; several are an error.
    Only,
    All,
    /// All of them, and none is no error.
    Any,
}

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
        (0, ReplaceWhich::Only | ReplaceWhich::All) => Err(ReplaceError::NotFound),
        (0 | 1, _) | (_, ReplaceWhich::All | ReplaceWhich::Any) => {
            Ok((put(before, &hits, old.len(), new), hits.len()))
        }
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
