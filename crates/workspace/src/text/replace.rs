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

/// Replaces `old` by `new` and says how often. Hits are counted left to right without overlap; the one
/// place must be the only one also where it overlaps another, because either could be meant.
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
    let mut hits: Vec<usize> = memmem::find_iter(before, old).collect();
    if let (ReplaceWhich::Only, [only]) = (which, &hits[..]) {
        hits.extend(overlapping(before, old, *only));
    }
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

/// The hits that begin inside the one at `hit`; of very many, as many as are listed.
fn overlapping(before: &[u8], old: &[u8], hit: usize) -> Vec<usize> {
    let end = before.len().min(hit + 2 * old.len() - 1);
    let finder = memmem::Finder::new(old);
    let next = |at: &usize| finder.find(&before[at + 1..end]).map(|found| at + 1 + found);
    std::iter::successors(next(&hit), next).take(LISTED_LINES).collect()
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
