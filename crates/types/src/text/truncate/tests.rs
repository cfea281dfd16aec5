//! Never over the limit, never half a character.

use super::{HeadTail, MARKER, head_and_tail, truncate};
use proptest::prelude::*;

const MIXED: &str = "plain, é, 漢字, 😀😀😀, then plain again; and once more é 漢字 😀 to the end.";

fn check_truncated(text: &str, max: usize) {
    let cut = truncate(text.to_owned(), max);
    assert!(cut.len() <= max, "{} > {max}", cut.len());
    if text.len() <= max {
        assert_eq!(cut, text);
    } else if max <= MARKER.len() {
        assert_eq!(cut, MARKER[..max]);
    } else {
        let body = cut.strip_suffix(MARKER).unwrap();
        assert!(text.starts_with(body));
        assert!(body.len() + MARKER.len() + 3 >= max, "cut more than one character too much");
    }
}

#[test]
fn every_small_limit() {
    let long = MIXED.repeat(4);
    for max in 0..=512 {
        check_truncated(&long, max);
        check_truncated(MIXED, max);
        check_truncated("", max);
    }
}

#[test]
fn ends_are_joined() {
    let cases = [
        ("head", "tail", 0, 8, "headtail"),
        ("head", "tail", 5, 99, "head\n... [5 bytes omitted] ...\ntail"),
        ("head", "tail", 5, 35, "head\n... [5 bytes omitted] ...\ntail"),
        ("head", "tail", 5, 34, "hea\n... [7 bytes omitted] ...\nail"),
        (
            "",
            "0123456789012345678901234567890123456789",
            0,
            36,
            "\n... [32 bytes omitted] ...\n23456789",
        ),
        ("éé", "éé", 1, 31, "é\n... [5 bytes omitted] ...\né"),
        ("head", "tail", 5, 3, "\n.."),
        ("head", "tail", 5, 0, ""),
    ];
    for (head, tail, omitted, max, expected) in cases {
        let joined = head_and_tail(head, tail, omitted, max);
        assert_eq!(joined, expected, "{head} {tail} {omitted} {max}");
    }
}

fn collected(limit: usize, chunks: &[&[u8]]) -> HeadTail {
    let mut output = HeadTail::new(limit);
    for chunk in chunks {
        output.push(chunk);
    }
    output
}

#[test]
fn output_keeps_both_ends() {
    let cases: &[(usize, &[&[u8]], &str)] = &[
        (8, &[], ""),
        (8, &[b"12345678"], "12345678"),
        (8, &[b"12345", b"6789"], "1234\n... [1 bytes omitted] ...\n6789"),
        (
            8,
            &[b"1", b"2", b"3", b"4", b"5", b"6", b"7", b"8", b"9", b"a"],
            "1234\n... [2 bytes omitted] ...\n789a",
        ),
        (8, &[b"1234567890123456789012345"], "1234\n... [17 bytes omitted] ...\n2345"),
        // Our own cut through `é` leaves no U+FFFD, and counts both of its bytes.
        (8, &["abcé - é123".as_bytes()], "abc\n... [7 bytes omitted] ...\n123"),
        (8, &["abcé12".as_bytes()], "abcé12"),
        (8, &[b"\xff1234567890"], "\u{fffd}123\n... [3 bytes omitted] ...\n7890"),
        (0, &[b"gone"], "\n... [4 bytes omitted] ...\n"),
        (1, &[b"gone"], "\n... [3 bytes omitted] ...\ne"),
    ];
    for (limit, chunks, expected) in cases {
        assert_eq!(&collected(*limit, chunks).render(999), expected, "{limit} {chunks:?}");
    }
}

#[test]
fn memory_stays_within_the_limit() {
    let mut output = HeadTail::new(1_000);
    for size in (1..5_000).step_by(7) {
        output.push(&vec![b'x'; size]);
        assert!(output.head.capacity() + output.tail.capacity() <= 1_000);
    }
    assert_eq!(output.omitted(), output.total() - 1_000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn truncated_stays_within_any_limit(text in any::<String>(), max in 0usize..300) {
        check_truncated(&text.repeat(3), max);
    }

    #[test]
    fn joined_ends_stay_within_any_limit(
        head in any::<String>(), tail in any::<String>(), omitted in any::<u32>(), max in 0usize..300,
    ) {
        let joined = head_and_tail(&head, &tail, omitted.into(), max);
        prop_assert!(joined.len() <= max);
        if let Some((start, rest)) = joined.split_once("\n... [")
            && let Some((count, end)) = rest.split_once(" bytes omitted] ...\n")
            && omitted > 0
        {
            prop_assert!(head.starts_with(start) && tail.ends_with(end));
            let missing = head.len() + tail.len() - start.len() - end.len();
            prop_assert_eq!(count.parse::<u64>().unwrap(), u64::from(omitted) + missing as u64);
        }
    }

    #[test]
    fn collecting_equals_slicing(
        text in any::<String>(), sizes in prop::collection::vec(1usize..40, 1..20), limit in 0usize..200,
    ) {
        let mut output = HeadTail::new(limit);
        let mut rest = text.as_bytes();
        for size in sizes.iter().cycle() {
            if rest.is_empty() { break; }
            let (chunk, later) = rest.split_at(rest.len().min(*size));
            output.push(chunk);
            rest = later;
        }
        prop_assert_eq!(output.total(), text.len() as u64);
        prop_assert_eq!(output.omitted(), text.len().saturating_sub(limit) as u64);
        let expected = if text.len() <= limit {
            text.clone()
        } else {
            let head = &text[..text.floor_char_boundary(limit / 2)];
            let tail = &text[text.ceil_char_boundary(text.len() - (limit - limit / 2))..];
            head_and_tail(head, tail, (text.len() - head.len() - tail.len()) as u64, usize::MAX)
        };
        prop_assert_eq!(output.render(usize::MAX), expected);
        for max in 0..=64 {
            prop_assert!(output.render(max).len() <= max);
        }
    }
}
