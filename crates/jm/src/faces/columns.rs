//! Lines for people that fit a terminal of eighty columns, whatever their letters are.

use jm_tui::text::Line;
use jm_tui::text::width::{fitting, width};
use jm_tui::text::wrap::wrap;
use jm_types::text::one_line;

/// Columns of a terminal that nobody has to widen.
pub(crate) const WIDTH: usize = 80;

/// The first line of a text, made visible and cut to so many columns.
pub(crate) fn short(text: &str, columns: usize) -> String {
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    cut(&one_line(first.trim()), columns)
}

/// A line, cut at its end to so many columns.
pub(crate) fn cut(line: &str, columns: usize) -> String {
    if width(line) <= columns {
        return line.to_owned();
    }
    let (start, _) = fitting(line, columns.saturating_sub(1));
    format!("{}…", start.trim_end())
}

/// A line, filled up with blanks to so many columns.
pub(crate) fn padded(line: &str, columns: usize) -> String {
    let missing = columns.saturating_sub(width(line));
    format!("{line}{}", " ".repeat(missing))
}

/// A line broken at its words to rows of [`WIDTH`]: the first begins with a label, the others are indented.
pub(crate) fn rows(label: &str, line: &str, indent: usize) -> Vec<String> {
    let beside = width(label).max(indent);
    if width(label) + width(line) <= WIDTH {
        return vec![format!("{label}{line}")];
    }
    let broken = wrap(&Line::text(line), WIDTH.saturating_sub(beside));
    let row = |(number, row): (usize, &Line)| match number {
        0 => format!("{label}{}", row.plain().trim_end()),
        _ => format!("{}{}", " ".repeat(indent), row.plain().trim()),
    };
    broken.iter().enumerate().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_says_so_and_fits() {
        let cases = [
            ("short", 10, "short"),
            ("a little too long", 10, "a little…"),
            ("漢字漢字", 8, "漢字漢字"),
            ("漢字漢字", 7, "漢字漢…"),
            ("漢字漢字", 6, "漢字…"),
            ("e\u{301}tude", 5, "e\u{301}tude"),
            ("x", 0, "…"),
        ];
        for (line, columns, expected) in cases {
            assert_eq!(cut(line, columns), expected, "{line} in {columns}");
        }
        assert_eq!(short("\n  a \u{202e}b \nmore", 80), "a \\u{202e}b");
    }

    #[test]
    fn wide_letters_are_filled_up_by_columns() {
        assert_eq!(padded("漢字", 6), "漢字  ");
        assert_eq!(padded("abcdefg", 6), "abcdefg");
    }

    #[test]
    fn rows_fit_and_keep_every_word() {
        let line = format!("    created: {}/{}", "a".repeat(60), "漢".repeat(60));
        let rows = rows("", &line, 6);
        assert!(rows.len() > 2 && rows.iter().all(|row| width(row) <= WIDTH), "{rows:?}");
        let letters = |text: &str| text.split_whitespace().collect::<String>();
        assert_eq!(letters(&rows.concat()), letters(&line));
        assert_eq!(super::rows("> ", "fits", 2), ["> fits"]);
        let prompt = super::rows("> ", &"word ".repeat(20), 2);
        assert_eq!(
            prompt,
            [format!("> {}", "word ".repeat(14) + "word").as_str(), "  word word word word word"][..]
        );
    }
}
