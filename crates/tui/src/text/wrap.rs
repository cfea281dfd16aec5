//! Wrapping at word boundaries, for the live region only: finished prose is left to the terminal.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use super::line::{Line, Span};
use super::style::Role;
use super::width::grapheme_width;

/// Between two parts that stand side by side.
const GAP: &str = "   ";

/// Breaks a line into rows of at most so many cells; a word that is longer than a row is cut.
pub fn wrap(line: &Line, cells: usize) -> Vec<Line> {
    let cells = cells.max(1);
    if line.width() <= cells {
        return vec![line.clone()];
    }
    let mut rows = Rows { cells, rows: Vec::new(), row: Line::new(), used: 0 };
    let mut word = Line::new();
    for span in &line.spans {
        for range in pieces(span.text()) {
            let is_blank = span.text()[range.clone()].trim().is_empty();
            let piece = span.part(range);
            if is_blank {
                rows.word(std::mem::take(&mut word));
                rows.blank(piece);
            } else {
                // A word may go on in the next span, in another style.
                word.push_span(piece);
            }
        }
    }
    rows.word(word);
    if !rows.row.is_empty() || rows.rows.is_empty() {
        rows.rows.push(rows.row);
    }
    rows.rows
}

/// Parts with a gap between them, as many in a row as fit; a part is broken only where it is wider than a row.
pub fn side_by_side(parts: Vec<Line>, cells: usize) -> Vec<Line> {
    let mut rows: Vec<Line> = Vec::new();
    for part in parts {
        match rows.last_mut() {
            Some(row) if row.width() + GAP.len() + part.width() <= cells => {
                row.push(GAP, Role::Text);
                row.append(part);
            }
            _ => rows.extend(wrap(&part, cells)),
        }
    }
    rows
}

/// Runs of blanks, and what stands between them; between two wide characters a row may end too.
fn pieces(text: &str) -> Vec<Range<usize>> {
    let mut pieces: Vec<Range<usize>> = Vec::new();
    let mut last = Kind::Wide;
    for (at, grapheme) in text.grapheme_indices(true) {
        let kind = match grapheme {
            blank if blank.trim().is_empty() => Kind::Blank,
            wide if grapheme_width(wide) > 1 => Kind::Wide,
            _ => Kind::Letter,
        };
        let end = at + grapheme.len();
        match pieces.last_mut() {
            Some(piece) if kind == last && kind != Kind::Wide => piece.end = end,
            _ => pieces.push(at..end),
        }
        last = kind;
    }
    pieces
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Blank,
    Wide,
    Letter,
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
    /// Blanks at the end of a row are not carried over.
    fn blank(&mut self, blanks: Span) {
        let wide = blanks.width();
        match self.used + wide <= self.cells {
            true => self.put(blanks, wide),
            false => self.end_row(),
        }
    }

    fn word(&mut self, word: Line) {
        let wide = word.width();
        if self.used > 0 && self.used + wide > self.cells && wide <= self.cells {
            self.end_row();
        }
        for span in word.spans {
            if self.used + span.width() <= self.cells {
                let wide = span.width();
                self.put(span, wide);
                continue;
            }
            for (at, grapheme) in span.text().grapheme_indices(true) {
                let one = grapheme_width(grapheme);
                if self.used + one > self.cells {
                    self.end_row();
                }
                self.put(span.part(at..at + grapheme.len()), one);
            }
        }
    }

    fn put(&mut self, span: Span, wide: usize) {
        self.row.push_span(span);
        self.used += wide;
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
        assert_eq!(rows("a 1–9 b.c/d x", 6), ["a 1–9 ", "b.c/d ", "x"], "only blanks part words");
        assert_eq!(rows("one two   ", 7), ["one two"], "no row of blanks");
        let joined = Line::text("see ").add("word", Role::Code).add(", then", Role::Text);
        assert_eq!(wrap(&joined, 7)[1].plain(), "word, ", "a word of two styles is one word");
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
