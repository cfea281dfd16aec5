//! One line, safe, and never the same for two texts.

use super::{Summary, folded, one_line, summarize};
use crate::text::sanitize::is_terminal_safe;
use proptest::prelude::*;
use proptest::sample::select;

/// The text of a line, read by the law alone. That it exists makes `one_line` injective.
fn read_back(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        if let Some(counted) = rest.strip_prefix('⟨') {
            let (run, after) = counted.split_once('⟩').unwrap();
            let (count, what) = run.split_once(' ').unwrap();
            let what = what.strip_prefix("× ").map_or(" ".to_owned(), read_back);
            text.push_str(&what.repeat(count.parse().unwrap()));
            rest = after;
            continue;
        }
        let after = rest.trim_start_matches('\\');
        let backslashes = rest.len() - after.len();
        if backslashes == 0 {
            text.push(c);
            rest = &rest[c.len_utf8()..];
        } else if !after.starts_with(['n', 'r', 't', 'x', 'u']) {
            text.push_str(&rest[..backslashes]);
            rest = after;
        } else {
            text.push_str(&rest[..backslashes / 2]);
            rest = after;
            if backslashes % 2 == 1 {
                let (c, after) = read_escape(after);
                text.push(c);
                rest = after;
            }
        }
    }
    text
}

fn read_escape(text: &str) -> (char, &str) {
    let (digits, rest) = match &text[..1] {
        "n" => ("a", &text[1..]),
        "r" => ("d", &text[1..]),
        "t" => ("9", &text[1..]),
        "x" => (&text[1..3], &text[3..]),
        _ => text[2..].split_once('}').unwrap(),
    };
    (char::from_u32(u32::from_str_radix(digits, 16).unwrap()).unwrap(), rest)
}

fn check(text: &str) {
    let line = one_line(text);
    assert!(is_terminal_safe(&line) && !line.contains(['\n', '\t']), "{text:?} -> {line:?}");
    assert_eq!(read_back(&line), text, "{line:?}");
}

#[test]
fn known_lines() {
    let cases = [
        ("", ""),
        ("src/main.rs", "src/main.rs"),
        ("grep -rn \"it's\" naïve/漢字/😀.txt", "grep -rn \"it's\" naïve/漢字/😀.txt"),
        ("a\nb\tc\rd", r"a\nb\tc\rd"),
        ("\x1b[2J\x07\x7f", r"\x1b[2J\x07\x7f"),
        ("a\u{202e}b\u{200d}c\u{a0}d", r"a\u{202e}b\u{200d}c\u{a0}d"),
        ("\u{e000}\u{10ffff}\u{3000}", r"\u{e000}\u{10ffff}\u{3000}"),
        (r"\d+\.\w", r"\d+\.\w"),
        (r"C:\new\\x", r"C:\\new\\\\x"),
        ("\\\n", r"\\\n"),
        (r"\", r"\"),
        ("a        b", "a        b"),
        ("a         b", "a⟨9 blanks⟩b"),
        ("a\n\n\n\n\n\n\n\n\nb", r"a⟨9 × \n⟩b"),
        ("⟨9 blanks⟩", r"\u{27e8}9 blanks⟩"),
        ("==================", "=================="),
        ("e\u{301}", "e\u{301}"),
        ("\u{301}e", r"\u{301}e"),
        ("हिन्दी ภาษาไทย", "हिन्दी ภาษาไทย"),
        ("a\u{336}\u{336}\u{336}\u{336}\u{336}", "a\u{336}\u{336}\u{336}\u{336}\\u{336}"),
    ];
    for (text, line) in cases {
        assert_eq!(one_line(text), line, "{text:?}");
        check(text);
    }
}

#[test]
fn every_code_point() {
    let all = ('\0'..='\u{ffff}').chain('\u{e0000}'..='\u{e0fff}');
    for c in all {
        check(&format!("a{c}b\\{c}"));
        check(&String::from(c));
        check(&String::from(c).repeat(9));
    }
}

#[test]
fn summaries() {
    let whole = |text: &str| Summary { text: text.to_owned(), cut: false };
    let cut = |text: &str| Summary { text: text.to_owned(), cut: true };
    let padded = format!("echo hi{}; rm -rf ~", " ".repeat(500));
    let cases = [
        ("Run command: ls", 200, whole("Run command: ls")),
        ("0123456789", 10, whole("0123456789")),
        ("0123456789a", 10, cut("012345…89a")),
        ("0123456789", 2, cut("0…")),
        ("0123456789", 1, cut("…")),
        ("0123456789", 0, cut("")),
        ("", 0, whole("")),
        ("ls\nrm x\\\n⤶n", 200, whole("ls⤶rm x\\⤶\\u{2936}n")),
        (&padded, 200, whole("echo hi⟨500 blanks⟩; rm -rf ~")),
        (
            "curl -H 'Authorization: Bearer abcdef0123456789' https://joe:hunter2@example.org/x",
            200,
            whole(
                "curl -H 'Authorization: Bearer [redacted]' https://joe:[redacted]@example.org/x",
            ),
        ),
    ];
    for (text, limit, summary) in cases {
        assert_eq!(summarize(text, limit), summary, "{text}");
    }
}

fn tricky() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        select(
            &[
                "\\", "\\\\", "n", "x1b", "u{202e}", "\n", "\t", "\r", "\x1b", "⟨", "⟩",
                "9 blanks", "× "
            ][..]
        )
        .prop_map(str::to_owned),
        select(&[' ', '\n', '\\', '\u{200b}', '\u{301}', 'a'][..])
            .prop_flat_map(|c| (1usize..14).prop_map(move |count| String::from(c).repeat(count))),
        any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn any_text_can_be_read_back(text in tricky()) {
        check(&text);
    }

    #[test]
    fn different_texts_look_different(left in tricky(), right in tricky()) {
        prop_assert_eq!(left == right, one_line(&left) == one_line(&right));
    }

    #[test]
    fn folded_texts_look_different(left in tricky(), right in tricky()) {
        prop_assert_eq!(left == right, folded(&left) == folded(&right));
    }

    #[test]
    fn a_summary_keeps_its_limit_and_both_ends(text in "[a-m \n\u{200b}]{0,80}", limit in 0usize..60) {
        let summary = summarize(&text, limit);
        let line = folded(&text);
        prop_assert!(summary.text.chars().count() <= limit);
        prop_assert_eq!(summary.cut, line.chars().count() > limit);
        if let Some((head, tail)) = summary.text.split_once('…') {
            prop_assert!(line.starts_with(head) && line.ends_with(tail));
            prop_assert_eq!(summary.text.chars().count(), limit);
        }
    }
}
