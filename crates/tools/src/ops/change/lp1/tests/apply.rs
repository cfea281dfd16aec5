//! Patches applied to files, case by case.

use super::super::*;
use super::{plain, section};

/// The file that the section makes of a file; `missing` stands for no file, before and after.
fn outcome(before: &str, body: &str) -> Result<String, Problem> {
    let before = (before != "missing").then(|| plain(before));
    let after = apply(&section(&plain(body)), before.as_ref().map(String::as_bytes));
    let after = after.map_err(|error| error.problem)?;
    Ok(after.map_or("missing".to_owned(), |bytes| String::from_utf8(bytes).unwrap()))
}

#[test]
fn worked_example() {
    let patch = "LP1\n# turn debugging on and add a level under it\nF app.conf\nR\ndebug = no\n.\n\
                 debug = yes\nlevel = 2\n.\nI\nport = 8080\n.\nbacklog = 16\n.\nEND\n";
    let before = b"port = 8080\nhost = local\ndebug = no\n";
    let after = b"port = 8080\nbacklog = 16\nhost = local\ndebug = yes\nlevel = 2\n";
    let patch = parse(patch).unwrap();
    assert_eq!(apply(&patch.sections[0], Some(before)), Ok(Some(after.to_vec())));
}

#[test]
fn files_after_a_patch() {
    let cases = [
        // The format's own table.
        ("x⏎log()⏎y⏎log()⏎z⏎", "E 2|log()|.", "x⏎log()⏎y⏎z⏎"),
        ("a", "T|b|.", "a⏎b"),
        ("a", "T|b|.|N +", "a⏎b⏎"),
        ("missing", "T|hello|.", "hello"),
        ("missing", "N +|T|hello|.", "⏎hello⏎"),
        ("only⏎", "E|only|.", ""),
        ("a␍⏎b␍⏎", "R|b|.|B|C|.", "a␍⏎B␍⏎C␍⏎"),
        ("a⏎b⏎", "R␍|b␍|.␍|B␍|.␍", "a⏎B⏎"),
        ("a⏎a⏎a⏎", "R 2|a|a|.|B|.", "a⏎B⏎"),
        ("a⏎⏎b⏎", "R|a||b|.|c|.", "c⏎"),
        ("a⏎", "T|..|.", "a⏎.⏎"),
        (".env⏎", "R|..env|.|..env|..env.local|.", ".env⏎.env.local⏎"),
        ("<BOM>a⏎b⏎", "R|a|.|A|.", "<BOM>A⏎b⏎"),
        // Each operation.
        ("a⏎b⏎c⏎", "R|b|.|.", "a⏎c⏎"),
        ("a⏎b⏎c⏎", "I|a|b|.|x|y|.", "a⏎b⏎x⏎y⏎c⏎"),
        ("a⏎b⏎c⏎", "P|b|.|x|.", "a⏎x⏎b⏎c⏎"),
        ("a⏎b⏎c⏎", "E|b|c|.", "a⏎"),
        ("a⏎", "B|x|y|.", "x⏎y⏎a⏎"),
        ("<BOM>a⏎", "B|x|.", "<BOM>x⏎a⏎"),
        ("a⏎", "I|a|.|.", "a⏎"),
        // In order, each on the result of the one before.
        ("a⏎", "R|a|.|b|.|R|b|.|c|.|E|c|.|T|d|.", "d⏎"),
        ("a⏎a⏎", "E 1|a|.|R|a|.|b|.", "b⏎"),
        ("a⏎a⏎a⏎a⏎", "E 3|a|a|.", "a⏎a⏎"),
        // Newlines: the file's kind, LF if it has none, and the end as it was, also where all lines go.
        ("only⏎", "E|only|.|T|new|.", "new⏎"),
        ("only⏎", "T|new|.|E|only|.", "new⏎"),
        ("only", "E|only|.|T|new|.", "new"),
        ("a␍⏎b␍⏎", "E|a|b|.|B|x|y|.", "x␍⏎y␍⏎"),
        ("only⏎", "E|only|.|N -|T|new|.", "new"),
        ("only⏎", "E|only|.|N +", "⏎"),
        ("only⏎", "E|only|.|N -", ""),
        ("a⏎b", "E|b|.", "a"),
        ("a⏎b", "R|b|.|c|d|.", "a⏎c⏎d"),
        ("a␍⏎b", "T|c|.", "a␍⏎b␍⏎c"),
        ("a", "B|x|.", "x⏎a"),
        ("a⏎", "N -", "a"),
        ("a␍⏎", "N -", "a"),
        ("a␍⏎b", "N +", "a␍⏎b␍⏎"),
        ("a⏎", "N +", "a⏎"),
        ("a", "N +|N -", "a"),
        ("a", "N -|T|b|.|N +", "a⏎b⏎"),
        ("", "N +", "⏎"),
        ("⏎", "N -", ""),
        ("⏎", "N -|T|a|.", "a"),
        ("⏎⏎", "N -", "⏎"),
        ("⏎", "R||.|x|.", "x⏎"),
        ("⏎⏎⏎", "E 2||.", "⏎⏎"),
        ("", "T|a|.", "a"),
        ("<BOM>", "T|a|.", "<BOM>a"),
        ("only", "E|only|.|N +", "⏎"),
        // Missing files: an empty result creates nothing.
        ("missing", "T|a|.|N +", "a⏎"),
        ("missing", "B|a|b|.", "a⏎b"),
        ("missing", "N +", "⏎"),
        ("missing", "N -", "missing"),
        ("missing", "N +|N -", "missing"),
        ("missing", "T|.", "missing"),
        ("missing", "# nothing", "missing"),
        ("missing", "T|a|.|E|a|.", "missing"),
        ("missing", "T|a|.|R|a|.|b|.", "b"),
        ("", "N -", ""),
        // Every byte counts, and none has a meaning.
        ("a\u{0}b⏎c⏎", "R|c|.|d|.", "a\u{0}b⏎d⏎"),
        ("x⏎", "R|x|.|$1 $& \\1 %s \\n|.", "$1 $& \\1 %s \\n⏎"),
        ("a.c⏎abc⏎", "E|a.c|.", "abc⏎"),
        ("e\u{301}⏎\u{e9}⏎", "E|\u{e9}|.", "e\u{301}⏎"),
        ("a\u{85}b\u{2028}c\u{b}⏎", "I|a\u{85}b\u{2028}c\u{b}|.|d|.", "a\u{85}b\u{2028}c\u{b}⏎d⏎"),
    ];
    for (before, body, after) in cases {
        let expected = plain(after);
        assert_eq!(outcome(before, body), Ok(expected), "{before} {body}");
    }
}

#[test]
fn files_that_refuse() {
    let mixed = |lf, crlf, first_differing_line| Unpatchable::MixedNewlines {
        lf,
        crlf,
        first_differing_line,
    };
    let cases = [
        ("a⏎b␍⏎", "N +", mixed(1, 1, 2)),
        ("a␍⏎b␍⏎c⏎d⏎e", "T|x|.", mixed(2, 2, 3)),
        ("a␍b⏎", "T|x|.", Unpatchable::LoneCarriageReturn { line: 1 }),
        ("a⏎b␍", "T|x|.", Unpatchable::LoneCarriageReturn { line: 2 }),
        ("a␍␍⏎", "T|x|.", Unpatchable::LoneCarriageReturn { line: 1 }),
        ("missing", "R|a|.|b|.", Unpatchable::Missing),
        ("missing", "I|a|.|b|.", Unpatchable::Missing),
        ("missing", "P|a|.|b|.", Unpatchable::Missing),
        ("missing", "E|a|.", Unpatchable::Missing),
        ("missing", "E|a|.|T|a|.", Unpatchable::Missing),
    ];
    for (before, body, problem) in cases {
        assert_eq!(outcome(before, body), Err(Problem::File(problem)), "{before} {body}");
    }
}

#[test]
fn lines_that_are_not_there() {
    let hits = |lines: &[usize]| Hits { count: lines.len(), lines: lines.to_vec() };
    let cases = [
        ("x⏎log()⏎y⏎log()⏎z⏎", "E|log()|.", Miss::NotUnique { hits: hits(&[2, 4]) }),
        (
            "x⏎log()⏎y⏎log()⏎z⏎",
            "E 3|log()|.",
            Miss::OutOfRange { occurrence: 3, hits: hits(&[2, 4]) },
        ),
        ("a⏎a⏎a⏎", "R|a|a|.|b|.", Miss::NotUnique { hits: hits(&[1, 2]) }),
        ("", "E|a|.", Miss::NoMatch { nearest: None, already_applied: false }),
        ("b⏎", "E 2|a|.", Miss::NoMatch { nearest: None, already_applied: false }),
    ];
    for (before, body, miss) in cases {
        assert_eq!(outcome(before, body), Err(Problem::Find(miss)), "{before} {body}");
    }
}

#[test]
fn bytes_that_are_not_utf8() {
    let foreign = |offset| Err(Problem::File(Unpatchable::ForeignByte { offset }));
    type Answer = Result<&'static [u8], Problem>;
    let cases: [(&[u8], &str, Answer); 6] = [
        (b"caf\xE9\na\n", "R|a|.|b|.", Ok(b"caf\xE9\nb\n")),
        (b"caf\xE9\na\n", "E|a|.", Ok(b"caf\xE9\n")),
        (b"caf\xE9\na\n", "R|a|.|\u{e9}|.", foreign(3)),
        (b"caf\xE9\n\xC3\xA9\n", "R|\u{e9}|.|e|.", Ok(b"caf\xE9\ne\n")),
        (b"\xFF\xFEa\0\n\0", "T|b|.", Err(Problem::File(Unpatchable::WideEncoding))),
        (b"\xFE\xFF\0a\0\n", "N +", Err(Problem::File(Unpatchable::WideEncoding))),
    ];
    for (before, body, expected) in cases {
        let found = apply(&section(body), Some(before)).map_err(|error| error.problem);
        assert_eq!(found, expected.map(|after| Some(after.to_vec())), "{body}");
    }
}

#[test]
fn a_second_section_continues_on_the_first() {
    let patch = parse("LP1\nF a\nT\nx\n.\nF ./a\nR\nx\n.\ny\n.\nN +\nEND").unwrap();
    let first = apply(&patch.sections[0], None).unwrap();
    assert_eq!(apply(&patch.sections[1], first.as_deref()), Ok(Some(b"y\n".to_vec())));
    assert!(patch.sections[0].needs_file().is_none());
    assert_eq!(patch.sections[1].needs_file().map(|operation| operation.number), Some(1));
}

#[test]
fn a_big_file_of_equal_lines_takes_a_hundred_operations() {
    let before = "the same line again and again, fifty bytes or so\n".repeat(100_000);
    let mut body = String::new();
    for number in 1..=100 {
        body.push_str(&format!("R {}|", number * 500));
        body.push_str(&"the same line again and again, fifty bytes or so|".repeat(40));
        body.push_str(&format!(".|{number}|.|"));
    }
    let after = apply(&section(&body), Some(before.as_bytes())).unwrap().unwrap();
    let replaced = after.split(|byte| *byte == b'\n').filter(|line| line.len() < 4).count();
    assert_eq!(replaced, 101);
    let missing =
        format!("E|{}other|.", "the same line again and again, fifty bytes or so|".repeat(40));
    assert!(apply(&section(&missing), Some(before.as_bytes())).is_err());
}
