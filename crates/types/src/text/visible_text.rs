//! Many lines that a person decides on: nothing in them is swallowed.
//!
//! Law: what is not plainly visible, or looks like another letter, is shown by its code point, never left out, and only a line feed
//! ends a line. What a terminal may show of a program's output can be less; what somebody approves
//! may not.

use super::foreign_text::look_alike_places;
use super::sanitize::{is_terminal_safe, show_code_point};

/// The text with every control, invisible and blank-looking character in sight. The carriage return
/// of a CRLF is shown where the lines of a diff end in both ways: there it may be all that changes.
pub fn reveal(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    let is_mixed = has_both_ends(text);
    let mut alike = look_alike_places(text).into_iter().peekable();
    while let Some(c) = rest.chars().next() {
        let is_alike = alike.next_if_eq(&(text.len() - rest.len())).is_some();
        let (this, after) = rest.split_at(c.len_utf8());
        rest = after;
        match c {
            '\r' if rest.starts_with('\n') && !is_mixed => {}
            _ if is_terminal_safe(this) && !looks_like_nothing(c) && !is_alike => shown.push(c),
            _ => show_code_point(c, &mut shown),
        }
    }
    shown
}

/// True if some lines of a diff end in CRLF and others in LF alone; its headings do not count.
fn has_both_ends(text: &str) -> bool {
    let is_line = |line: &&str| {
        line.starts_with(['+', '-', ' ']) && !line.starts_with("+++ ") && !line.starts_with("--- ")
    };
    let mut ends = text.split_inclusive('\n').filter(is_line).map(|line| line.ends_with("\r\n"));
    let first = ends.next();
    ends.any(|end| Some(end) != first)
}

/// True if a person sees nothing, or only a blank, where such a character stands.
pub(crate) fn looks_like_nothing(c: char) -> bool {
    matches!(
        c,
        '\u{a0}'
            | '\u{34f}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{1680}'
            | '\u{2000}'..='\u{200f}'
            | '\u{202f}'
            | '\u{205f}'..='\u{2064}'
            | '\u{2800}'
            | '\u{3000}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nothing_is_swallowed() {
        let cases = [
            ("plain \\x1b text\n\tindented\n", "plain \\x1b text\n\tindented\n"),
            ("echo ok \x1b_; rm -rf ~\n", "echo ok <U+001B>_; rm -rf ~\n"),
            ("a\x1b]0;title\x07b", "a<U+001B>]0;title<U+0007>b"),
            ("a\u{9d}title\u{9c}b", "a<U+009D>title<U+009C>b"),
            ("one\r\ntwo\r\n", "one\ntwo\n"),
            (
                "+one\r+two\x0b+three\x0c+four\u{85}",
                "+one<U+000D>+two<U+000B>+three<U+000C>+four<U+0085>",
            ),
            ("\r\r\n", "<U+000D>\n"),
            ("over\x08\x08\x7f", "over<U+0008><U+0008><U+007F>"),
            (
                "a\u{200c}\u{200d}\u{fe0f}\u{2800}\u{a0}b",
                "a<U+200C><U+200D><U+FE0F><U+2800><U+00A0>b",
            ),
            ("--- a\n+++ b\n-one\n+one\r\n", "--- a\n+++ b\n-one\n+one<U+000D>\n"),
            ("--- a\n+++ b\n-one\r\n+two\r\n", "--- a\n+++ b\n-one\n+two\n"),
            ("a\u{202e}b\u{200b}\u{e0041}", "a<U+202E>b<U+200B><U+E0041>"),
            ("cаt привет", "c<U+0430>t привет"),
        ];
        for (text, shown) in cases {
            assert_eq!(reveal(text), shown);
        }
    }

    proptest! {
        #[test]
        fn every_visible_character_is_there_in_order(text in "[a-z\u{1b}\\]P_\\\\\r\n\u{7}\u{9d}\u{202e}]{0,40}") {
            let shown = reveal(&text);
            prop_assert!(is_terminal_safe(&shown));
            prop_assert_eq!(shown.matches('\n').count(), text.matches('\n').count());
            let mut left = shown.chars();
            prop_assert!(text.chars().filter(char::is_ascii_graphic).all(|c| left.any(|s| s == c)));
        }
    }
}
