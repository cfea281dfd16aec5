//! Wrapping at word boundaries, for the live region only: finished prose is left to the terminal.

use unicode_segmentation::UnicodeSegmentation;

use super::line::{Line, Span};
use super::width::{grapheme_width, width};

/// Breaks a line into rows of at most so many cells; a word that is longer than a row is cut.
pub fn wrap(line: &Line, cells: usize) -> Vec<Line> {
    let cells = cells.max(1);
    if line.width() <= cells {
        return vec![line.clone()];
    }
    let mut rows = Rows { cells, rows: Vec::new(), row: Line::new(), used: 0 };
    for span in &line.spans {
        let mut at = 0;
        for word in span.text().split_word_bounds() {
            let range = at..at + word.len();
            at = range.end;
            rows.word(span, range, word);
        }
    }
    rows.rows.push(rows.row);
    rows.rows
}

/// The last rows of a wrapped line, without wrapping more of it than needed.
pub fn wrap_tail(line: &Line, cells: usize, most: usize) -> Vec<Line> {
    let mut rows = wrap(line, cells);
    let skipped = rows.len().saturating_sub(most);
    rows.drain(..skipped);
    rows
}

struct Rows {
    cells: usize,
    rows: Vec<Line>,
    row: Line,
    used: usize,
}

impl Rows {
    fn word(&mut self, span: &Span, range: std::ops::Range<usize>, word: &str) {
        let wide = width(word);
        if self.used + wide <= self.cells {
            self.row.push_span(span.part(range));
            self.used += wide;
            return;
        }
        if word.trim().is_empty() {
            // Blanks at the end of a row are not carried over.
            return self.end_row();
        }
        if wide <= self.cells {
            self.end_row();
            self.row.push_span(span.part(range));
            self.used = wide;
            return;
        }
        let mut at = range.start;
        for grapheme in word.graphemes(true) {
            let one = grapheme_width(grapheme);
            if self.used + one > self.cells {
                self.end_row();
            }
            self.row.push_span(span.part(at..at + grapheme.len()));
            at += grapheme.len();
            self.used += one;
        }
    }

    fn end_row(&mut self) {
        self.rows.push(std::mem::take(&mut self.row));
        self.used = 0;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::Role;

    #[test]
    fn rows_end_at_words() {
        let rows = |text: &str, cells| -> Vec<String> {
            wrap(&Line::text(text), cells).iter().map(Line::plain).collect()
        };
        assert_eq!(rows("one two three", 8), ["one two ", "three"]);
        assert_eq!(rows("one two three", 7), ["one two", "three"]);
        assert_eq!(rows("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(rows("漢字漢字", 5), ["漢字", "漢字"]);
        assert_eq!(rows("", 5), [""]);
        let styled = Line::text("one ").add("two three", Role::Code);
        assert_eq!(wrap(&styled, 8)[1].plain(), "three");
        assert_eq!(wrap_tail(&styled, 4, 1)[0].plain(), "e");
    }

    proptest! {
        #[test]
        fn no_row_is_too_wide_and_no_letter_is_lost(text in "[a-z 漢é-]{0,80}", cells in 2usize..20) {
            let rows = wrap(&Line::text(&text), cells);
            prop_assert!(rows.iter().all(|row| row.width() <= cells));
            let letters = |text: &str| text.split_whitespace().collect::<String>();
            let shown: String = rows.iter().map(Line::plain).collect();
            prop_assert_eq!(letters(&shown), letters(&text));
        }
    }
}
