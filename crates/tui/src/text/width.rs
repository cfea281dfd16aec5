//! Width in cells: wide characters take two, combining ones none, an emoji of several code points two.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Columns of a text in a terminal.
pub fn width(text: &str) -> usize {
    match text.is_ascii() {
        true => text.len(),
        false => text.graphemes(true).map(grapheme_width).sum(),
    }
}

/// One grapheme is at most two cells wide, whatever it is made of.
pub fn grapheme_width(grapheme: &str) -> usize {
    grapheme.width().min(2)
}

/// The longest start of the text that fits into so many cells, and its width.
pub fn fitting(text: &str, cells: usize) -> (&str, usize) {
    if text.is_ascii() {
        let end = text.len().min(cells);
        return (&text[..end], end);
    }
    let mut used = 0;
    for (at, grapheme) in text.grapheme_indices(true) {
        let wide = grapheme_width(grapheme);
        if used + wide > cells {
            return (&text[..at], used);
        }
        used += wide;
    }
    (text, used)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_counted_by_grapheme() {
        let cases = [
            ("abc", 3),
            ("漢字", 4),
            ("e\u{301}", 1),
            ("👩\u{200d}👩\u{200d}👧", 2),
            ("🇩🇪", 2),
            ("", 0),
            ("한국", 4),
        ];
        for (text, cells) in cases {
            assert_eq!(width(text), cells, "{text}");
        }
        assert_eq!(fitting("漢字", 3), ("漢", 2));
        assert_eq!(fitting("abc", 2), ("ab", 2));
        assert_eq!(fitting("e\u{301}x", 1), ("e\u{301}", 1));
    }
}
