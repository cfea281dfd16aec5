//! Replacing one text by another, byte for byte.
//!
//! Law: `old` and `new` are literal. No character of either means anything but itself.

use jm_types::replace::{LISTED_LINES, MOST_BYTES, ReplaceError};
use memchr::{memchr_iter, memmem};

/// Occurrences of the old text that are replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplaceWhich {
    /// The one place; several are an error.
    Only,
    /// Every one that does not overlap the one before.
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
    // Counted and found again rather than kept: there may be as many as bytes.
    let hits = || memmem::find_iter(before, old);
    let found = hits().count();
    let only = hits().next().filter(|_| found == 1 && which == ReplaceWhich::Only);
    let overlapping = only.map(|only| overlapping(before, old, only)).unwrap_or_default();
    let count = found + overlapping.len();
    match (count, which) {
        (0, ReplaceWhich::Only | ReplaceWhich::All) => Err(ReplaceError::NotFound),
        (0 | 1, _) | (_, ReplaceWhich::All | ReplaceWhich::Any) => {
            let bytes = checked_size(before, count, old, new)?;
            Ok((put(before, hits(), old.len(), new, bytes), count))
        }
        (_, ReplaceWhich::Only) => {
            let lines = lines_of(before, hits().chain(overlapping));
            Err(ReplaceError::NotUnique { count, lines })
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

/// Judges the size of the result before anything is allocated: each of a few edits can multiply a
/// file. One that is larger already may still shrink.
fn checked_size(
    before: &[u8],
    count: usize,
    old: &[u8],
    new: &[u8],
) -> Result<usize, ReplaceError> {
    let kept = before.len() - count * old.len();
    let bytes = kept.saturating_add(count.saturating_mul(new.len()));
    if bytes > MOST_BYTES.max(before.len()) {
        Err(ReplaceError::TooLarge { bytes })
    } else {
        Ok(bytes)
    }
}

fn put(
    before: &[u8],
    hits: impl Iterator<Item = usize>,
    length: usize,
    new: &[u8],
    bytes: usize,
) -> Vec<u8> {
    let mut after = Vec::with_capacity(bytes);
    let mut copied = 0;
    for at in hits {
        after.extend_from_slice(&before[copied..at]);
        after.extend_from_slice(new);
        copied = at + length;
    }
    after.extend_from_slice(&before[copied..]);
    after
}

fn lines_of(before: &[u8], hits: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut lines = Vec::new();
    let (mut line, mut counted) = (1, 0);
    for at in hits {
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
