//! The lines of a range, collected from a stream of bytes.
//!
//! Law: memory is bounded by what is kept, whatever the length of a line; bytes are kept as they are, and
//! pieces of any size give the same lines.

/// Collects whole lines, but for the last one where more was asked for than is kept.
#[derive(Debug)]
pub(super) struct LineCollector {
    /// The first line that is kept, from 1.
    first: u64,
    /// The line after the last one that is kept.
    end: u64,
    /// The most bytes that are kept.
    most: usize,
    /// The line that the next byte belongs to.
    line: u64,
    at_line_start: bool,
    pub(super) kept: Vec<u8>,
    /// The number of lines that were begun.
    pub(super) begun: u64,
    /// Lines that were asked for do not fit.
    pub(super) is_cut: bool,
}

impl LineCollector {
    /// `count` lines from `first` on, or all of them.
    pub(super) fn new(first: u64, count: Option<u64>, most: usize) -> Self {
        let first = first.max(1);
        let end = count.map_or(u64::MAX, |count| first.saturating_add(count));
        let (kept, begun, is_cut) = (Vec::new(), 0, false);
        Self { first, end, most, line: 1, at_line_start: true, kept, begun, is_cut }
    }

    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// Tells whether the stream is still in its first line.
    pub(super) fn is_in_first_line(&self) -> bool {
        self.line == 1
    }

    /// Tells whether the last line of the range has ended.
    pub(super) fn is_past_range(&self) -> bool {
        self.line >= self.end
    }

    /// Tells whether nothing more will be kept.
    pub(super) fn is_done(&self) -> bool {
        self.is_past_range() || self.is_cut
    }

    /// The number of lines that the stream has had so far.
    pub(super) fn total(&self) -> u64 {
        self.line - u64::from(self.at_line_start)
    }

    pub(super) fn feed(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            if self.is_done() {
                return self.count(rest);
            }
            let stop = memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
            let (piece, after) = rest.split_at(stop);
            if self.line >= self.first {
                self.keep(piece);
            }
            self.at_line_start = piece.ends_with(b"\n");
            self.line += u64::from(self.at_line_start);
            rest = after;
        }
    }

    fn keep(&mut self, piece: &[u8]) {
        let room = self.most - self.kept.len();
        self.is_cut = piece.len() > room;
        self.begun += u64::from(self.at_line_start && room > 0);
        self.kept.extend_from_slice(&piece[..piece.len().min(room)]);
    }

    /// Counts lines that are not kept.
    fn count(&mut self, rest: &[u8]) {
        self.line += memchr::memchr_iter(b'\n', rest).count() as u64;
        self.at_line_start = rest.ends_with(b"\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collect(text: &[u8], chunk: usize, asked: (u64, Option<u64>, usize)) -> LineCollector {
        let (first, count, most) = asked;
        let mut lines = LineCollector::new(first, count, most);
        text.chunks(chunk).for_each(|piece| lines.feed(piece));
        lines
    }

    /// Text, what was asked, the bytes, lines begun, lines in all, cut.
    type Case = (&'static str, (u64, Option<u64>, usize), &'static str, u64, u64, bool);

    #[test]
    fn ranges_are_the_same_in_any_chunks() {
        let cases: &[Case] = &[
            ("", (1, None, 99), "", 0, 0, false),
            ("a\nb\nc\n", (1, None, 99), "a\nb\nc\n", 3, 3, false),
            ("a\nb\nc", (2, None, 99), "b\nc", 2, 3, false),
            ("a\nb\nc", (2, Some(1), 99), "b\n", 1, 3, false),
            ("a\nb\nc", (2, Some(0), 99), "", 0, 3, false),
            ("a\nb\nc", (4, None, 99), "", 0, 3, false),
            ("a\nb\nc\n", (4, Some(2), 99), "", 0, 3, false),
            ("aaa\nbbb\nccc\n", (1, None, 5), "aaa\nb", 2, 3, true),
            ("aaa\nbbb\nccc\n", (1, None, 4), "aaa\n", 1, 3, true),
            ("aaa\nbbb\nccc\n", (1, Some(1), 4), "aaa\n", 1, 3, false),
            ("\r\n\r\nx", (2, Some(1), 99), "\r\n", 1, 3, false),
        ];
        for (text, asked, bytes, lines, total, is_cut) in cases {
            for chunk in 1..=text.len().max(1) {
                let found = collect(text.as_bytes(), chunk, *asked);
                let found = (&found.kept[..], found.begun, found.total(), found.is_cut);
                assert_eq!(
                    found,
                    (bytes.as_bytes(), *lines, *total, *is_cut),
                    "{text:?} {asked:?}"
                );
            }
        }
    }
}
