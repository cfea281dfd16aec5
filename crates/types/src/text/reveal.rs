//! Many lines that a person decides on: nothing in them is swallowed.
//!
//! Law: what is not plainly visible is shown by its code point, never left out, and only a line feed
//! ends a line. What a terminal may show of a program's output can be less; what somebody approves
//! may not.

use super::sanitize::{is_terminal_safe, show_code_point};

/// The text with every control and hidden character in sight. The carriage return of a CRLF is part
/// of its line's end.
pub fn reveal(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let (this, after) = rest.split_at(c.len_utf8());
        rest = after;
        match c {
            '\r' if rest.starts_with('\n') => {}
            _ if is_terminal_safe(this) => shown.push(c),
            _ => show_code_point(c, &mut shown),
        }
    }
    shown
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
            ("a\u{202e}b\u{200b}\u{e0041}", "a<U+202E>b<U+200B><U+E0041>"),
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
