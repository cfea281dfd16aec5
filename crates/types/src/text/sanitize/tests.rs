//! Sequences are gone, text stays, and an emulator agrees.

use super::{Sanitizer, is_hidden, is_terminal_safe, sanitize};
use proptest::prelude::*;
use proptest::sample::select;

fn check(cases: &[(&str, &str)]) {
    for (text, shown) in cases {
        assert_eq!(&sanitize(text), shown, "{text:?}");
    }
}

#[test]
fn plain_text_and_line_breaks() {
    check(&[
        ("", ""),
        (
            "fn main() {\n\tprintln!(\"é ✓ 漢字\");\n}\n",
            "fn main() {\n\tprintln!(\"é ✓ 漢字\");\n}\n",
        ),
        ("one\r\ntwo\r\n", "one\ntwo\n"),
        ("10%\r20%\r100%", "10%\n20%\n100%"),
        ("end\r", "end\n"),
        ("a\r\r\nb", "a\n\nb"),
        ("a\x0bb\x0cc", "a\nb\nc"),
        ("ab\x08\x08cd\x00\x07\x7f\x0e\x0fe", "abcde"),
        ("\u{85}a\u{84}b\u{8e}c\u{8f}d\u{9c}e", "abcde"),
        ("👩\u{200d}💻 ❤\u{fe0f} می\u{200c}خواهم", "👩\u{200d}💻 ❤\u{fe0f} می\u{200c}خواهم"),
    ]);
}

#[test]
fn sequences_leave_no_trace() {
    check(&[
        ("\x1b[31mred\x1b[0m", "red"),
        ("\u{9b}1;38;5;4mred\u{9b}m", "red"),
        ("\x1b[?1049h\x1b[2J\x1b[H\x1b[1 q\x1b[>c", ""),
        ("\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b\u{9d}52;c;aGk=\u{9c}c", "abc"),
        ("\x1bPq#0\x1b\\a\x1b_Gi=1\x1b\\b\x1b^p\x1b\\c\x1bXs\x1b\\d", "abcd"),
        ("\u{90}q\u{9c}a\u{9f}g\u{9c}b\u{9e}p\u{9c}c\u{98}s\u{9c}d", "abcd"),
        ("\x1bca\x1b(0b\x1b)Bc\x1b#8d\x1b%Ge\x1b7f\x1b=g", "abcdefg"),
        ("\x1bNa\x1bOb\x1b Fc", "abc"),
    ]);
}

#[test]
fn broken_sequences_hide_one_line_at_most() {
    check(&[
        ("\x1b]0;never closed\nnext", "\nnext"),
        ("\x1b]0;never closed\r\nnext", "\nnext"),
        ("\x1b]0;cancelled\x18a\x1bPq\x1ab", "ab"),
        ("\x1b]0;x\x1b[31ma", "a"),
        ("\x1b[31\nm", "\nm"),
        ("\x1b[31\u{202e}m", "<U+202E>m"),
        ("\x1b\x1b[31ma", "a"),
        ("\x1bé", "é"),
        ("a\x1b", "a"),
        ("a\x1b[", "a"),
        ("a\x1b]0;tail", "a"),
    ]);
}

#[test]
fn hidden_characters_are_named() {
    check(&[
        ("a\u{202e}b\u{2066}c", "a<U+202E>b<U+2066>c"),
        ("x\u{200b}\u{feff}\u{ad}", "x<U+200B><U+FEFF><U+00AD>"),
        ("a\u{2028}b\u{2029}", "a<U+2028>b<U+2029>"),
        ("\u{e0041}\u{e0100}", "<U+E0041><U+E0100>"),
    ]);
}

#[test]
fn every_code_point_alone_is_safe() {
    for c in '\0'..=char::MAX {
        let shown = sanitize(&c.to_string());
        assert!(is_terminal_safe(&shown), "{c:?}");
        let printable = !c.is_control() && !is_hidden(c);
        assert_eq!(printable, shown == c.to_string() && !matches!(c, '\n' | '\t'), "{c:?}");
    }
}

#[test]
fn long_runs_take_linear_time() {
    let marks = format!("a{}", "\u{301}".repeat(1_000_000));
    assert_eq!(sanitize(&marks), marks);
    assert_eq!(sanitize(&"\x1b[".repeat(1_000_000)), "");
    assert_eq!(sanitize(&format!("\x1b]{}", "9".repeat(1_000_000))), "");
}

const SEQUENCES: &[&str] = &[
    "\x1b[31m",
    "\x1b[0m",
    "\x1b[2J",
    "\x1b[H",
    "\x1b[5;7H",
    "\x1b[?1049h",
    "\x1b[?25l",
    "\x1b[4h",
    "\x1b[3A",
    "\x1b[2K",
    "\x1b[10P",
    "\x1b[1;2r",
    "\x1b[6n",
    "\x1b[c",
    "\x1b[!p",
    "\x1b[8m",
    "\x1b]0;title\x07",
    "\x1b]2;title\x1b\\",
    "\x1b]4;1;#fff\x07",
    "\x1b]7;file:///\x07",
    "\x1b]8;;http://evil\x1b\\",
    "\x1b]9;note\x07",
    "\x1b]10;?\x07",
    "\x1b]52;c;cm0=\x07",
    "\x1b]133;A\x07",
    "\x1b]777;notify;a;b\x07",
    "\x1b]1337;File=:AA\x07",
    "\x1bPq#0;2\x1b\\",
    "\x1b_Ga=T\x1b\\",
    "\x1b^private\x1b\\",
    "\x1bXstart\x1b\\",
    "\x1bN",
    "\x1bO",
    "\x1bc",
    "\x1b(0",
    "\x1b)B",
    "\x1b#8",
    "\x1b7",
    "\x1b8",
    "\x1bM",
    "\x1bD",
    "\x1bE",
    "\x1b=",
    "\u{9b}2J",
    "\u{9d}0;t\u{9c}",
    "\u{90}q\u{9c}",
    "\u{9f}x\u{9c}",
    "\u{8d}",
    "\u{84}",
    "\x07",
    "\x08",
    "\x0e",
    "\x0f",
    "\x00",
    "\x7f",
    "\x05",
];

/// Pieces that make hostile text when strung together in any order.
fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-z0-9;:?@ \\[\\]\\\\(PX^_m]{0,6}",
        4 => select(SEQUENCES).prop_map(str::to_owned),
        3 => select(&["\x1b", "\r", "\n", "\t", "\x18", "\x1a", "\x0b", "\u{9b}", "\u{9c}", "\u{9d}"][..])
            .prop_map(str::to_owned),
        2 => any::<char>().prop_map(String::from),
        1 => select(&['\u{202e}', '\u{200b}', '\u{200d}', '\u{fe0f}', '\u{e0041}', '\u{301}', '漢'][..])
            .prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

/// Words and line breaks with whole sequences between them, and the words alone.
fn decorated() -> impl Strategy<Value = (String, String)> {
    let piece = prop_oneof![
        "[a-zA-Z0-9 .,!]{1,12}".prop_map(|word| (word.clone(), word)),
        select(&["é", "漢字", "✓", "├──"][..]).prop_map(|word| (word.to_owned(), word.to_owned())),
        select(SEQUENCES).prop_map(|sequence| (sequence.to_owned(), String::new())),
        select(&["\n", "\r\n", "\r"][..]).prop_map(|end| (end.to_owned(), "\n".to_owned())),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| {
        // Two separate line ends must not read as one.
        let pieces: Vec<_> = pieces
            .into_iter()
            .map(|(shown, plain)| {
                if plain == "\n" { (format!("{shown}-"), "\n-".to_owned()) } else { (shown, plain) }
            })
            .collect();
        pieces.into_iter().unzip::<_, _, String, String>()
    })
}

fn screen(text: &str) -> vt100::Screen {
    let mut parser = vt100::Parser::new(40, 300, 0);
    parser.process(text.replace('\n', "\r\n").as_bytes());
    parser.screen().clone()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn chunks_do_not_matter(text in hostile()) {
        let whole = sanitize(&text);
        for (cut, _) in text.char_indices() {
            let mut sanitizer = Sanitizer::new();
            let mut shown = sanitizer.push(&text[..cut]);
            shown += &sanitizer.push(&text[cut..]);
            shown += &sanitizer.finish();
            prop_assert_eq!(&shown, &whole);
        }
        let mut sanitizer = Sanitizer::new();
        let mut shown: String = text.chars().map(|c| sanitizer.push(&c.to_string())).collect();
        shown += &sanitizer.finish();
        prop_assert_eq!(shown, whole);
    }

    #[test]
    fn safe_and_idempotent(text in hostile()) {
        let shown = sanitize(&text);
        prop_assert!(is_terminal_safe(&shown));
        prop_assert_eq!(sanitize(&shown), shown);
    }

    #[test]
    fn the_screen_shows_the_words_alone((text, words) in decorated()) {
        let shown = sanitize(&text);
        prop_assert_eq!(&shown, &words);
        prop_assert_eq!(screen(&shown).state_formatted(), screen(&words).state_formatted());
    }

    #[test]
    fn what_follows_is_undisturbed(text in hostile()) {
        let screen = screen(&(sanitize(&text) + "\nMARK"));
        let (row, column) = screen.cursor_position();
        let line = screen.rows(0, 300).nth(usize::from(row)).unwrap_or_default();
        prop_assert_eq!((line.as_str(), column), ("MARK", 4));
        let cell = screen.cell(row, 0).unwrap();
        prop_assert_eq!((cell.fgcolor(), cell.bgcolor()), (vt100::Color::Default, vt100::Color::Default));
        prop_assert!(!(cell.bold() || cell.inverse() || cell.underline()));
        prop_assert!(!(screen.alternate_screen() || screen.hide_cursor() || screen.application_keypad()));
    }
}
