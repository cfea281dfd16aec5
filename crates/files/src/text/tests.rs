//! Bytes outside an edit stay as they are.

use proptest::collection::vec;
use proptest::prelude::*;

use jm_types::replace::MOST_BYTES;

use super::*;

#[test]
fn lines_and_their_ends() {
    use Terminator::{CrLf, Lf, None};
    type Ends<'a> = &'a [(&'a [u8], Terminator)];
    let cases: &[(&[u8], Ends<'_>)] = &[
        (b"", &[]),
        (b"\n", &[(b"", Lf)]),
        (b"a", &[(b"a", None)]),
        (b"a\n", &[(b"a", Lf)]),
        (b"a\r\nb", &[(b"a", CrLf), (b"b", None)]),
        (b"a\rb\n", &[(b"a\rb", Lf)]),
        (b"a\r\r\n", &[(b"a\r", CrLf)]),
        (b"\r\n", &[(b"", CrLf)]),
        (b"\xEF\xBB\xBF", &[]),
        (b"\xEF\xBB\xBFa\n", &[(b"a", Lf)]),
        // NEL, U+2028, vertical tab and form feed end no line.
        (
            "a\u{85}b\u{2028}c\x0Bd\x0C\n".as_bytes(),
            &[("a\u{85}b\u{2028}c\x0Bd\x0C".as_bytes(), Lf)],
        ),
    ];
    for (bytes, expected) in cases {
        let text = Text::new(bytes.to_vec());
        let ends = text.lines().iter().map(|line| line.terminator);
        let lines: Vec<_> = text.contents().zip(ends).collect();
        assert_eq!(lines, *expected, "{bytes:?}");
        assert_eq!(text.into_bytes(), *bytes);
    }
}

#[test]
fn what_kind_of_file() {
    let mixed = NewlineKind::Mixed { lf: 2, crlf: 1, first_differing_line: 3 };
    let cases: &[(&[u8], NewlineKind, bool, Option<usize>)] = &[
        (b"", NewlineKind::None, false, None),
        (b"a", NewlineKind::None, false, None),
        (b"a\nb", NewlineKind::Lf, false, None),
        (b"a\r\nb\r\n", NewlineKind::CrLf, true, None),
        (b"a\nb\nc\r\nd", mixed, false, None),
        (b"a\nb\r", NewlineKind::Lf, false, Some(3)),
        (b"\r\r\n", NewlineKind::CrLf, true, Some(0)),
    ];
    for (bytes, kind, ends_with_newline, lone_cr) in cases {
        let text = Text::new(bytes.to_vec());
        let found = (text.newline_kind(), text.ends_with_newline(), text.lone_cr());
        assert_eq!(found, (*kind, *ends_with_newline, *lone_cr), "{bytes:?}");
    }
}

#[test]
fn what_encoding() {
    let cases: &[(&[u8], Option<usize>, bool)] = &[
        (b"plain", None, false),
        ("h\u{e9}".as_bytes(), None, false),
        (b"\xEF\xBB\xBFa", None, false),
        (b"a\0b", None, false),
        (b"caf\xE9\n", Some(3), false),
        (b"\xFF\xFEa\0", Some(0), true),
        (b"\xFE\xFF\0a", Some(0), true),
        (b"\xFF\xFE\0\0a\0\0\0", Some(0), true),
        (b"\0\0\xFE\xFF\0\0\0a", Some(2), true),
    ];
    for (bytes, foreign_byte, wide) in cases {
        let text = Text::new(bytes.to_vec());
        assert_eq!((text.foreign_byte(), text.is_utf16()), (*foreign_byte, *wide), "{bytes:?}");
    }
}

#[test]
fn splices_keep_their_order() {
    let splices = [
        Splice { range: 0..1, new: b"<".to_vec() },
        Splice { range: 2..2, new: b"++".to_vec() },
        Splice { range: 4..6, new: vec![] },
    ];
    assert_eq!(splice(b"abcdef", &splices), b"<b++cd");
    assert_eq!(append(&Text::new(b"a".to_vec()), b"b\r\n"), b"ab\r\n");
}

#[test]
fn replacing_text() {
    use ReplaceError::{EmptyOld, NotFound, NotUnique, Same};
    use ReplaceWhich::{All, Only};
    type Answer = Result<(&'static str, usize), ReplaceError>;
    let cases: Vec<(&str, &str, &str, ReplaceWhich, Answer)> = vec![
        ("abc", "b", "X", Only, Ok(("aXc", 1))),
        ("abc", "b", "", Only, Ok(("ac", 1))),
        ("abc", "x", "y", Only, Err(NotFound)),
        ("abc", "x", "y", All, Err(NotFound)),
        ("abc", "", "y", All, Err(EmptyOld)),
        ("abc", "b", "b", Only, Err(Same)),
        ("b\na\nb b\n", "b", "X", Only, Err(NotUnique { count: 3, lines: vec![1, 3] })),
        ("b\na\nb b\n", "b", "X", All, Ok(("X\na\nX X\n", 3))),
        ("aaa", "aa", "b", Only, Err(NotUnique { count: 2, lines: vec![1] })),
        ("a\na\na\na\n", "a\na\na\n", "b", Only, Err(NotUnique { count: 2, lines: vec![1, 2] })),
        ("aab", "ab", "c", Only, Ok(("ac", 1))),
        ("aaaaa", "aa", "b", All, Ok(("bba", 2))),
        ("a.c abc", "a.c", "x", Only, Ok(("x abc", 1))),
        ("say 1", "1", r"$1 $& \1 %s \n", Only, Ok((r"say $1 $& \1 %s \n", 1))),
        ("a  b", "a b", "c", Only, Err(NotFound)),
        ("\u{201C}a\u{201D}", "\"a\"", "c", Only, Err(NotFound)),
        ("a\r\nb\n", "\r\n", "\n", Only, Ok(("a\nb\n", 1))),
    ];
    for (before, old, new, which, expected) in cases {
        let found = replace_text(before.as_bytes(), old.as_bytes(), new.as_bytes(), which);
        let expected = expected.map(|(after, count)| (after.as_bytes().to_vec(), count));
        assert_eq!(found, expected, "{before:?} {old:?} -> {new:?}");
    }
}

#[test]
fn a_result_that_is_too_large_is_refused_before_it_is_made() {
    let which = ReplaceWhich::All;
    let (before, new) = (vec![b'h'; 1 << 20], vec![b'h'; 1 << 20]);
    let bytes = 1 << 40;
    assert_eq!(replace_text(&before, b"h", &new, which), Err(ReplaceError::TooLarge { bytes }));
    let most = MOST_BYTES >> 20;
    let (after, count) = replace_text(&before, b"h", &vec![b'x'; most], which).unwrap();
    assert_eq!((after.len(), count), (MOST_BYTES, before.len()));
    // A file that is larger than that already can be made smaller.
    let larger = [&after[..], b"end"].concat();
    assert_eq!(replace_text(&larger, b"end", b"", which).unwrap().0.len(), MOST_BYTES);
    assert!(replace_text(&larger, b"end", b"more", which).is_err());
}

#[test]
fn replacing_lines() {
    use LineRangeError::{BeyondEnd, Reversed, Zero};
    type Answer = Result<&'static str, LineRangeError>;
    let cases: Vec<(&str, usize, usize, &str, Answer)> = vec![
        ("a\nb\nc\n", 2, 2, "X", Ok("a\nX\nc\n")),
        ("a\nb\nc\n", 2, 3, "X\nY\n", Ok("a\nX\nY\n")),
        ("a\nb\nc\n", 1, 3, "", Ok("")),
        ("a\nb\nc\n", 2, 2, "", Ok("a\nc\n")),
        ("a\nb\nc\n", 2, 2, "\n", Ok("a\n\nc\n")),
        ("a\nb", 2, 2, "X\n", Ok("a\nX")),
        ("a\nb", 2, 2, "", Ok("a")),
        ("a\nb", 1, 2, "", Ok("")),
        ("a\nb", 1, 1, "", Ok("b")),
        ("a\r\nb\r\n", 1, 1, "X\nY\n", Ok("X\r\nY\r\nb\r\n")),
        ("a\nb\r\nc\n", 2, 2, "X", Ok("a\nX\r\nc\n")),
        ("a", 1, 1, "X\r\nY", Ok("X\r\nY")),
        ("\u{FEFF}a\nb\n", 1, 1, "X", Ok("\u{FEFF}X\nb\n")),
        ("a\n", 2, 1, "X", Ok("a\nX\n")),
        ("a", 2, 1, "X\nY\n", Ok("a\nX\nY")),
        ("a\r\nb", 3, 2, "X\nY\n", Ok("a\r\nb\r\nX\r\nY")),
        ("", 1, 0, "X\r\n", Ok("X\r\n")),
        ("a\n", 0, 1, "X", Err(Zero)),
        ("a\nb\n", 2, 1, "X", Err(Reversed { first: 2, last: 1 })),
        ("a\nb\n", 2, 3, "X", Err(BeyondEnd { line: 3, line_count: 2 })),
        ("a\nb\n", 7, 8, "X", Err(BeyondEnd { line: 7, line_count: 2 })),
        ("a\n", 1, usize::MAX, "X", Err(BeyondEnd { line: 2, line_count: 1 })),
        ("", 1, 1, "X", Err(BeyondEnd { line: 1, line_count: 0 })),
    ];
    for (before, first, last, new, expected) in cases {
        let found = replace_lines(&Text::new(before.into()), first, last, new.as_bytes());
        assert_eq!(found, expected.map(|after| after.as_bytes().to_vec()), "{before:?} {new:?}");
    }
}

fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::sample::select(vec![
        &b"\n"[..],
        b"\r\n",
        b"\r",
        b"\0",
        b"\xE9",
        b"\xEF\xBB\xBF",
        b"a",
        b"aa",
        b"b ",
        b"$&",
        b"\\1",
    ]);
    vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn the_index_covers_every_byte(bytes in any_bytes()) {
        let text = Text::new(bytes.clone());
        let mut rebuilt = text.byte_order_mark().to_vec();
        for (line, content) in text.lines().iter().zip(text.contents()) {
            rebuilt.extend_from_slice(content);
            rebuilt.extend_from_slice(line.terminator.bytes());
        }
        prop_assert_eq!(rebuilt, bytes);
    }

    #[test]
    fn replaced_text_keeps_what_is_around(before in any_bytes(), old in any_bytes(), new in any_bytes()) {
        match replace_text(&before, &old, &new, ReplaceWhich::Only) {
            Ok((after, count)) => {
                let at = memchr::memmem::find(&before, &old).unwrap();
                prop_assert_eq!(count, 1);
                prop_assert_eq!(after, [&before[..at], &new, &before[at + old.len()..]].concat());
            }
            Err(ReplaceError::NotUnique { count, .. }) => {
                let (after, replaced) = replace_text(&before, &old, &new, ReplaceWhich::All).unwrap();
                // One that overlaps itself is there twice and can be replaced once.
                let overlaps = before.windows(old.len()).filter(|part| *part == old).count();
                let is_within = replaced == 1 && (2..=overlaps).contains(&count);
                prop_assert!(replaced == count || is_within, "{}", overlaps);
                prop_assert!(overlaps >= 2);
                prop_assert_eq!(after.len() + replaced * old.len(), before.len() + replaced * new.len());
            }
            Err(ReplaceError::TooLarge { bytes }) => prop_assert!(false, "{}", bytes),
            Err(ReplaceError::EmptyOld | ReplaceError::Same | ReplaceError::NotFound) => {}
        }
    }

    #[test]
    fn replaced_lines_keep_what_is_around(
        before in any_bytes(), new in any_bytes(), first in 0usize..12, more in 0usize..4,
    ) {
        let text = Text::new(before.clone());
        let last = first + more;
        let Ok(after) = replace_lines(&text, first, last, &new) else {
            prop_assert!(first == 0 || last > text.line_count());
            return Ok(());
        };
        let mut prefix = &before[..text.lines()[first - 1].start];
        if !after.starts_with(prefix) {
            // All that is left before the end gives up its terminator, as the last line had none.
            prop_assert!(last == text.line_count() && !text.ends_with_newline() && new.is_empty());
            prefix = &before[..text.lines()[first - 2].end];
            prop_assert_eq!(&after, prefix);
        }
        prop_assert!(after.starts_with(prefix));
        let suffix = text.lines().get(last).map_or(before.len(), |line| line.start);
        prop_assert!(after.ends_with(&before[suffix..]));
    }
}
