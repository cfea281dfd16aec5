//! The lines of a file that come nearest to a find block that matches none.
//!
//! Law: the work is bounded, whatever the file and the block.

use std::cmp::Reverse;
use std::fmt;
use std::ops::Range;

use super::difference::difference;
use super::similarity::{ALIKE, LINE_BYTES, Likeness, squeeze};

/// The most lines of the find block that are compared.
const COMPARED_LINES: usize = 32;
/// The number of them, the longest, that are looked for in the whole file.
const ANCHORS: usize = 3;
/// The most places that each anchor may suggest.
const SUGGESTIONS: usize = 32;
/// The most bytes of the file that each anchor is compared with.
const COMPARED_BYTES: usize = 16 << 20;
/// The cost of a line besides its bytes, so that empty lines are not free.
const LINE_COST: usize = 16;

/// The window of lines, from 1 and both included, that is most like a find block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nearest {
    /// The first line of the window.
    pub first: usize,
    /// The last line of the window.
    pub last: usize,
    /// The kind of difference.
    pub differs_in: DiffersIn,
    rows: Vec<String>,
}

/// The kind of difference from a find block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffersIn {
    /// Blanks and tabs only.
    WhiteSpace,
    /// Other characters.
    Text,
}

impl Nearest {
    /// The difference, `-` what was looked for, `+` what is there.
    pub fn rows(&self) -> &[String] {
        &self.rows
    }

    pub(super) fn hint(&self) -> String {
        match self.differs_in {
            DiffersIn::WhiteSpace => {
                "copy the lines with their exact white space (· is a space, → a tab)".to_owned()
            }
            DiffersIn::Text => {
                let them = if self.first == self.last { "it" } else { "them" };
                format!("read {} again and copy {them} exactly into the find block", self.place())
            }
        }
    }

    fn place(&self) -> String {
        if self.first == self.last {
            return format!("line {}", self.first);
        }
        format!("lines {} to {}", self.first, self.last)
    }
}

impl fmt::Display for Nearest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let only = match self.differs_in {
            DiffersIn::WhiteSpace => ", which differs only in white space",
            DiffersIn::Text => "",
        };
        write!(out, "nearest is {}{only} (- the find block, + the file):", self.place())?;
        self.rows.iter().try_for_each(|row| write!(out, "\n{row}"))
    }
}

pub(in crate::ops::change) fn nearest(lines: &[&[u8]], find: &[String]) -> Option<Nearest> {
    let window = nearest_window(lines, find)?;
    let found = &lines[window.clone()];
    let same = found.len() == find.len()
        && found.iter().zip(find).all(|(line, find)| squeeze(line).eq(squeeze(find.as_bytes())));
    Some(Nearest {
        first: window.start + 1,
        last: window.end,
        differs_in: if same { DiffersIn::WhiteSpace } else { DiffersIn::Text },
        rows: difference(find, found),
    })
}

/// The window of `lines`, from 0, that is most like `find`; none if nothing is like it.
pub(super) fn nearest_window(lines: &[&[u8]], find: &[String]) -> Option<Range<usize>> {
    let length = find.len().min(lines.len());
    let mut measures: Vec<Likeness> =
        find.iter().take(COMPARED_LINES).map(|line| Likeness::new(line.as_bytes())).collect();
    let mut anchors: Vec<usize> = (0..measures.len()).collect();
    anchors.sort_by_key(|&index| Reverse(measures[index].weight()));
    let mut best = None;
    for anchor in anchors.into_iter().take(ANCHORS) {
        for line in suggestions(&mut measures[anchor], lines) {
            let start = line.saturating_sub(anchor).min(lines.len() - length);
            let score = (score(&mut measures, &lines[start..start + length]), Reverse(start));
            best = best.max(Some(score));
        }
    }
    let (score, Reverse(start)) = best?;
    (score >= ALIKE).then_some(start..start + length)
}

/// The lines most like an anchor, best first.
fn suggestions(anchor: &mut Likeness, lines: &[&[u8]]) -> Vec<usize> {
    let mut compared = 0;
    let mut alike = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        compared += line.len().min(LINE_BYTES) + LINE_COST;
        if compared > COMPARED_BYTES {
            break;
        }
        let likeness = anchor.to(line);
        if likeness >= ALIKE {
            alike.push((Reverse(likeness), index));
        }
    }
    alike.sort_unstable();
    alike.into_iter().take(SUGGESTIONS).map(|(_, index)| index).collect()
}

/// The mean likeness of a window, where a longer line counts more than a lone brace.
fn score(measures: &mut [Likeness], window: &[&[u8]]) -> usize {
    let whole: usize = measures.iter().map(Likeness::weight).sum();
    let pairs = measures.iter_mut().zip(window);
    pairs.map(|(measure, line)| measure.weight() * measure.to(line)).sum::<usize>() / whole.max(1)
}
