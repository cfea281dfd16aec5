//! Messages of errors.

use super::super::*;
use super::{plain, section};

fn check(file: &str, body: &str, message: &str, hint: &str) {
    let error = apply(&section(body), Some(plain(file).as_bytes())).expect_err(body);
    assert_eq!((error.to_string().as_str(), error.hint().as_deref()), (message, Some(hint)));
}

#[test]
fn white_space_can_be_seen() {
    check(
        "fn main() {⏎\tserve(80);⏎}⏎",
        "N +|R|fn main() {|    serve(80); |}|.|.",
        "patch line 4, file, operation 2 (on the result of those before it): the find block \
         matches nothing; nearest is lines 1 to 3, which differs only in white space (- the find \
         block, + the file):\n  fn main() {\n- ····serve(80);·\n+ →serve(80);\n  }",
        "copy the lines with their exact white space (· is a space, → a tab)",
    );
}

#[test]
fn the_nearest_lines_are_named() {
    check(
        "}⏎fn open(path: &str) {⏎}⏎fn close(path: &Path) {⏎    drop(path)⏎}⏎",
        "E|fn close(path: &str) {|    drop(path)|}|.",
        "patch line 3, file, operation 1: the find block matches nothing; nearest is lines 4 to 6 \
         (- the find block, + the file):\n- fn·close(path:·&str)·{\n+ fn·close(path:·&Path)·{\n\u{20} \
         \u{20}   drop(path)",
        "read lines 4 to 6 again and copy them exactly into the find block",
    );
}

#[test]
fn a_find_block_longer_than_the_file() {
    check(
        "port = 80⏎",
        "E|port = 80|host|.",
        "patch line 3, file, operation 1: the find block matches nothing; nearest is line 1 (- the \
         find block, + the file):\n  port = 80\n- host",
        "read line 1 again and copy it exactly into the find block",
    );
}

#[test]
fn nothing_is_near() {
    check(
        "a⏎b⏎",
        "E|quite another line|.",
        "patch line 3, file, operation 1: the find block matches nothing, and nothing comes near it",
        "read the file again: a find block is whole lines, copied exactly",
    );
}

#[test]
fn an_applied_patch_is_recognised() {
    check(
        "port = 80⏎host = all⏎",
        "R|port = 8080|.|port = 80|.",
        "patch line 3, file, operation 1: the find block matches nothing; nearest is line 1 (- the \
         find block, + the file):\n- port·=·8080\n+ port·=·80",
        "already applied? The new text is in the file: read it before patching again",
    );
}

#[test]
fn several_hits_are_counted_and_listed() {
    check(
        "x⏎log()⏎y⏎log()⏎z⏎",
        "E|log()|.",
        "patch line 3, file, operation 1: the find block matches 2 times, at lines 2 and 4",
        "add an occurrence number after the letter, such as 2, or more lines to the find block",
    );
    check(
        &"a⏎".repeat(500),
        "E|a|.",
        "patch line 3, file, operation 1: the find block matches 500 times, at lines 1, 2, 3, 4, 5, \
         6, 7, 8, 9, 10, …",
        "add an occurrence number after the letter, such as 2, or more lines to the find block",
    );
    check(
        "x⏎log()⏎y⏎log()⏎z⏎",
        "E 3|log()|.",
        "patch line 3, file, operation 1: there is no occurrence 3: the find block matches 2 times, \
         at lines 2 and 4",
        "use a number from 1 to 2",
    );
}

#[test]
fn files_say_what_is_wrong_with_them() {
    let other = "edit this file with another tool, or make its newlines one kind first";
    check(
        "a⏎b␍⏎c␍⏎",
        "N +",
        "patch line 2, file: mixed newlines: 1 LF and 2 CRLF, line 2 is the first that differs",
        other,
    );
    check(
        "a␍b⏎",
        "N +",
        "patch line 2, file: line 1 of the file holds a carriage return that ends no line",
        other,
    );
    let error = apply(&section("T|\u{e9}|."), Some(b"caf\xE9")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "patch line 3, file, operation 1: the file is not UTF-8 (first at byte 3) and the new text \
         is not ASCII"
    );
}

#[test]
fn a_long_line_is_shown_where_it_differs() {
    let long = "word ".repeat(5_000);
    let error = apply(&section(&format!("E|{long}old|.")), Some(format!("{long}new").as_bytes()));
    let message = error.unwrap_err().to_string();
    assert!(message.contains("word·old") && message.contains("word·new"), "{message}");
    assert!(message.chars().count() < 500, "{message}");
}

#[test]
fn a_long_block_is_shown_from_its_first_difference_and_not_to_its_end() {
    let numbered = |word: &str| -> String { (0..400).map(|n| format!("{word} {n}|")).collect() };
    let same: String = (0..100).map(|n| format!("a line in common {n}|")).collect();
    let file = format!("{same}{}", numbered("green")).replace('|', "⏎");
    let body = format!("E|{same}{}.", numbered("greet"));
    let error = apply(&section(&body), Some(plain(&file).as_bytes())).unwrap_err();
    let message = error.to_string();
    assert!(message.contains("\n- greet·0\n"), "{message}");
    assert_eq!(message.lines().count(), 22, "{message}");
}

#[test]
fn what_cannot_be_seen_is_written_out() {
    let error = apply(&section("E|a b\u{200B}c|."), Some(b"a\xA0b\x1B[31mc\n")).unwrap_err();
    let Problem::Find(Miss::NoMatch { nearest, .. }) = &error.problem else { panic!("{error}") };
    assert_eq!(*nearest, None);
    let error = apply(&section("E|let name = 1;\u{200B}|."), Some(b"let name\xA0= 1;\x1B\n"));
    let message = error.unwrap_err().to_string();
    assert!(
        message.ends_with("\n- let·name·=·1;\\u{200b}\n+ let·name\\xA0=·1;\\u{1b}"),
        "{message}"
    );
}

#[test]
fn every_mistake_in_the_text_has_a_hint() {
    let cases = [
        ("R2|x|.|y|.", "patch line 3, file, operation 1: invalid occurrence `R2`"),
        ("T|.env|.", "patch line 4, file, operation 1: the line `.env` begins with a single dot"),
        ("Foo", "patch line 3, file, operation 1: unknown operation `Foo`"),
    ];
    for (body, message) in cases {
        let error = parse(&super::section_text(body)).unwrap_err();
        assert_eq!(error.to_string(), message);
        assert!(error.hint().is_some_and(|hint| !hint.is_empty()), "{error}");
    }
    let error = parse("LP1\nF a b\nEND").unwrap_err();
    assert_eq!(
        error.to_string(),
        "patch line 2: a bare path with white space or a quote in it: `a b`"
    );
    assert_eq!(error.hint().as_deref(), Some("quote it: `F \"a path\"`"));
}
