//! The grammar of a patch: texts that are one, and texts that are not.

use std::num::NonZeroUsize;

use super::super::*;
use super::{plain, section_text};

fn target(find: &[&str], occurrence: usize) -> PatchTarget {
    PatchTarget { find: lines(find), occurrence: NonZeroUsize::new(occurrence) }
}

fn lines(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| line.to_string()).collect()
}

#[test]
fn operations() {
    let x = || target(&["x"], 0);
    let cases = vec![
        ("R|x|.|y|.", PatchAction::Replace { target: x(), new: lines(&["y"]) }),
        ("R|x|.|.", PatchAction::Replace { target: x(), new: vec![] }),
        ("I|x|.|y|z|.", PatchAction::InsertAfter { target: x(), new: lines(&["y", "z"]) }),
        ("P|x|.|y|.", PatchAction::InsertBefore { target: x(), new: lines(&["y"]) }),
        ("E|x|.", PatchAction::Erase { target: x() }),
        ("E 12|x|.", PatchAction::Erase { target: target(&["x"], 12) }),
        (" E\t2 |x|.", PatchAction::Erase { target: target(&["x"], 2) }),
        ("T|x|.", PatchAction::Append { new: lines(&["x"]) }),
        ("B|x|.", PatchAction::Prepend { new: lines(&["x"]) }),
        ("T|.", PatchAction::Append { new: vec![] }),
        ("N +", PatchAction::FinalNewline(FinalNewline::Present)),
        ("N \t-", PatchAction::FinalNewline(FinalNewline::Absent)),
        // Blocks: the end comes before unstuffing, and all else is content.
        ("T|..|.", PatchAction::Append { new: lines(&["."]) }),
        ("T|...|.", PatchAction::Append { new: lines(&[".."]) }),
        ("T|..env|.", PatchAction::Append { new: lines(&[".env"]) }),
        ("T|.. |.", PatchAction::Append { new: lines(&[". "]) }),
        ("T| .|.", PatchAction::Append { new: lines(&[" ."]) }),
        ("T|x|. \t", PatchAction::Append { new: lines(&["x"]) }),
        (
            "T|# no comment||  |END|F x|LP1|R 2|.",
            PatchAction::Append {
                new: lines(&["# no comment", "", "  ", "END", "F x", "LP1", "R 2"]),
            },
        ),
        ("T| x \t|.", PatchAction::Append { new: lines(&[" x \t"]) }),
        ("# why||T|x|.|  # why not|", PatchAction::Append { new: lines(&["x"]) }),
    ];
    for (body, action) in cases {
        for text in [section_text(body), section_text(body).replace('\n', "\r\n")] {
            let patch = parse(&text).unwrap_or_else(|error| panic!("{body}: {error}"));
            let actions: Vec<_> = patch.sections[0].operations.iter().map(|o| &o.action).collect();
            assert_eq!(actions, [&action], "{text:?}");
        }
    }
}

#[test]
fn frames_and_paths() {
    let cases: &[(&str, &[&str])] = &[
        ("LP1⏎END", &[]),
        ("LP1⏎END⏎", &[]),
        ("LP1␍⏎END␍", &[]),
        ("⏎# first⏎ \tLP1 \t⏎ END\t⏎⏎# after⏎", &[]),
        ("LP1⏎F a⏎F b/c.rs⏎END", &["a", "b/c.rs"]),
        ("LP1⏎F a⏎F ./a⏎F a⏎END", &["a", "./a", "a"]),
        ("LP1⏎  F \t a  ⏎END", &["a"]),
        (
            r#"LP1⏎F "a b"⏎F "q\"\\"⏎F back\slash⏎F a#b⏎END"#,
            &["a b", r#"q"\"#, r"back\slash", "a#b"],
        ),
    ];
    for (text, paths) in cases {
        let patch = parse(&plain(text)).unwrap_or_else(|error| panic!("{text}: {error}"));
        let found: Vec<_> = patch.sections.iter().map(|section| &section.path).collect();
        assert_eq!(found, *paths, "{text}");
    }
}

#[test]
fn operations_know_their_place() {
    let patch = parse("LP1\n# c\nF a\nN +\n\nT\nx\n.\nF b\nN -\nEND\n").unwrap();
    let places: Vec<_> = patch
        .sections
        .iter()
        .flat_map(|s| s.operations.iter().map(|o| (s.path.as_str(), s.line, o.number, o.line)))
        .collect();
    assert_eq!(places, [("a", 3, 1, 4), ("a", 3, 2, 6), ("b", 9, 1, 10)]);
}

#[test]
fn mistakes() {
    use SyntaxFault::*;
    let text = |text: &str| text.to_owned();
    let cases: Vec<(&str, usize, Option<usize>, SyntaxFault)> = vec![
        ("", 1, None, MissingHeader),
        ("⏎⏎", 2, None, MissingHeader),
        ("F a⏎END", 1, None, MissingHeader),
        ("LP2⏎END", 1, None, MissingHeader),
        ("lp1⏎END", 1, None, MissingHeader),
        ("LP1 x⏎END", 1, None, MissingHeader),
        ("LP1⏎", 1, None, MissingEnd),
        ("LP1⏎F a⏎N +⏎⏎", 4, None, MissingEnd),
        ("LP1⏎END x", 2, None, TextAfterEnd),
        ("LP1⏎END⏎# fine⏎x⏎", 4, None, TextAfterEnd),
        ("LP1⏎END⏎END", 3, None, TextAfterEnd),
        ("LP1⏎T⏎x⏎.⏎END", 2, None, OutsideSection),
        ("LP1⏎Foo⏎END", 2, None, UnknownOperation(text("Foo"))),
        ("LP1⏎F a⏎Foo⏎END", 3, Some(1), UnknownOperation(text("Foo"))),
        ("LP1⏎F a⏎N +⏎r⏎END", 4, Some(2), UnknownOperation(text("r"))),
        ("LP1⏎F a⏎.⏎END", 3, Some(1), UnknownOperation(text("."))),
        ("LP1⏎F a⏎T1⏎x⏎.⏎END", 3, Some(1), UnknownOperation(text("T1"))),
        ("LP1⏎F⏎END", 2, None, EmptyPath),
        ("LP1⏎F \"\"⏎END", 2, None, EmptyPath),
        ("LP1⏎F a b⏎END", 2, None, UnquotedPath(text("a b"))),
        ("LP1⏎F a\u{A0}b⏎END", 2, None, UnquotedPath(text("a\u{A0}b"))),
        ("LP1⏎F a\"b⏎END", 2, None, UnquotedPath(text("a\"b"))),
        ("LP1⏎F \"a⏎F b\"⏎END", 2, None, UnclosedQuote),
        ("LP1⏎F \"a\\⏎END", 2, None, UnclosedQuote),
        ("LP1⏎F \"a\\nb\"⏎END", 2, None, UnknownEscape('n')),
        ("LP1⏎F \"a\" b⏎END", 2, None, TextAfterPath(text("b"))),
        ("LP1⏎F a⏎T x⏎x⏎.⏎END", 3, Some(1), TextAfterOperation(text("x"))),
        ("LP1⏎F a⏎B 1⏎x⏎.⏎END", 3, Some(1), TextAfterOperation(text("1"))),
        ("LP1⏎F a⏎N⏎END", 3, Some(1), InvalidFinalNewline(text(""))),
        ("LP1⏎F a⏎N ++⏎END", 3, Some(1), InvalidFinalNewline(text("++"))),
        ("LP1⏎F a⏎N+⏎END", 3, Some(1), UnknownOperation(text("N+"))),
        ("LP1⏎F a⏎T⏎x⏎END⏎", 4, Some(1), UnclosedBlock(Block::New)),
        ("LP1⏎F a⏎T", 3, Some(1), UnclosedBlock(Block::New)),
        ("LP1⏎F a⏎E⏎x⏎END", 4, Some(1), UnclosedBlock(Block::Find)),
        ("LP1⏎F a⏎R⏎x⏎.⏎END", 6, Some(1), UnclosedBlock(Block::New)),
        ("LP1⏎F a⏎T⏎.env⏎.⏎END", 4, Some(1), UnstuffedDot(text(".env"))),
        ("LP1⏎F a⏎T⏎. x⏎.⏎END", 4, Some(1), UnstuffedDot(text(". x"))),
        ("LP1⏎F a⏎T⏎x␍y⏎.⏎END", 4, Some(1), LoneCarriageReturn),
        ("LP1⏎F a⏎T⏎x␍␍⏎.⏎END", 4, Some(1), LoneCarriageReturn),
        ("LP1⏎F a⏎N +⏎E⏎.⏎END", 4, Some(2), EmptyFind),
        ("LP1⏎F a⏎R⏎.⏎x⏎.⏎END", 3, Some(1), EmptyFind),
    ];
    for (patch, line, operation, syntax) in cases {
        let error = parse(&plain(patch)).expect_err(patch);
        let found = (error.line, error.operation, error.problem);
        assert_eq!(found, (line, operation, Problem::Syntax(syntax)), "{patch}");
    }
}

#[test]
fn occurrences_are_plain_numbers_from_one() {
    let bad = [
        "R2",
        "E2",
        "I+3",
        "P-1",
        "R 0",
        "R +3",
        "R -1",
        "R 007",
        "R 1.5",
        "R x",
        "R 1 2",
        "R 0x1",
        "R ٣",
        "R 99999999999999999999999999",
    ];
    for statement in bad {
        let error = parse(&section_text(&format!("{statement}|x|.|y|."))).expect_err(statement);
        let is_named = matches!(error.problem, Problem::Syntax(SyntaxFault::InvalidOccurrence(_)));
        assert!(is_named, "{statement}: {error}");
        assert_eq!((error.line, error.operation), (3, Some(1)));
    }
}
