//! The places of a block of lines in a file.
//!
//! Law: a line matches if all its bytes are the same, and the work grows with the file, never with
//! the file times the block. Overlapping windows all count.

/// The starts, from 0, of all windows of `lines` that equal `block`, in order.
///
/// This is Knuth, Morris and Pratt with lines for letters: a file of a hundred thousand equal
/// lines costs no more than any other.
pub(super) fn hits<A: AsRef<[u8]>, B: AsRef<[u8]>>(lines: &[A], block: &[B]) -> Vec<usize> {
    if block.is_empty() || block.len() > lines.len() {
        return Vec::new();
    }
    let borders = borders(block);
    let mut hits = Vec::new();
    let mut matched = 0;
    for (index, line) in lines.iter().enumerate() {
        while matched > 0 && (matched == block.len() || block[matched].as_ref() != line.as_ref()) {
            matched = borders[matched - 1];
        }
        if block[matched].as_ref() == line.as_ref() {
            matched += 1;
        }
        if matched == block.len() {
            hits.push(index + 1 - matched);
        }
    }
    hits
}

pub(super) fn contains<A: AsRef<[u8]>, B: AsRef<[u8]>>(lines: &[A], block: &[B]) -> bool {
    !hits(lines, block).is_empty()
}

/// For each prefix of the block, how many of its first lines are also its last ones.
fn borders<B: AsRef<[u8]>>(block: &[B]) -> Vec<usize> {
    let mut borders = vec![0; block.len()];
    let mut matched = 0;
    for index in 1..block.len() {
        while matched > 0 && block[matched].as_ref() != block[index].as_ref() {
            matched = borders[matched - 1];
        }
        if block[matched].as_ref() == block[index].as_ref() {
            matched += 1;
        }
        borders[index] = matched;
    }
    borders
}
