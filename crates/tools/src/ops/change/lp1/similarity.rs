//! The likeness of two lines, whatever their white space.
//!
//! Law: the cost of a comparison is bounded, however long the lines.

/// Equal lines, white space aside, are this like.
const EQUAL: usize = 1000;
/// From here on two lines are worth showing side by side.
pub(super) const ALIKE: usize = 450;
/// The most bytes of a line that are compared.
pub(super) const LINE_BYTES: usize = 512;

/// One line, ready to be compared with many: how often each pair of neighbouring bytes occurs.
#[derive(Debug)]
pub(super) struct Likeness {
    counts: Vec<u16>,
    pairs: usize,
    /// The pairs that the line compared last has in common; kept to save the allocation.
    common: Vec<u16>,
}

impl Likeness {
    pub(super) fn new(line: &[u8]) -> Likeness {
        let mut counts = vec![0; 1 << 16];
        let mut total = 0;
        for pair in pairs(line) {
            counts[usize::from(pair)] += 1;
            total += 1;
        }
        Likeness { counts, pairs: total, common: Vec::new() }
    }

    /// The weight of the line: a lone brace little, a long statement much.
    pub(super) fn weight(&self) -> usize {
        self.pairs
    }

    /// The share of pairs that both lines have (Dice's coefficient), from 0 to 1000.
    pub(super) fn to(&mut self, line: &[u8]) -> usize {
        // White space is not compared, so only a line that is too short can be ruled out unread.
        if 2 * (line.len() + 1) * EQUAL < ALIKE * self.pairs {
            return 0;
        }
        let mut total = 0;
        for pair in pairs(line) {
            total += 1;
            if self.counts[usize::from(pair)] > 0 {
                self.counts[usize::from(pair)] -= 1;
                self.common.push(pair);
            }
        }
        let common = self.common.len();
        self.common.drain(..).for_each(|pair| self.counts[usize::from(pair)] += 1);
        2 * common * EQUAL / (total + self.pairs)
    }
}

/// The pairs of neighbouring bytes, with a NUL for what stands before and behind the line.
fn pairs(line: &[u8]) -> impl Iterator<Item = u16> {
    let mut before = 0;
    let line = &line[..line.len().min(LINE_BYTES)];
    squeeze(line).chain([0]).map(move |byte| {
        let pair = u16::from_be_bytes([before, byte]);
        before = byte;
        pair
    })
}

/// The bytes of a line without its white space.
pub(super) fn squeeze(line: &[u8]) -> impl Iterator<Item = u8> {
    line.iter().copied().filter(|byte| !byte.is_ascii_whitespace())
}
