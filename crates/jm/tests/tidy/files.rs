//! Files: short, introduced, finished; words in their rooms; sound reasons for `unsafe`.

use crate::sources::{Source, is_test, is_tidy, planted, product, sources};

const LONGEST_FILE: usize = 500;

/// Words that belong to one room only.
const ROOMS: &[(&str, &[&str])] = &[
    (
        "std::fs",
        &["crates/system/src", "crates/files/src", "crates/process/src", "crates/testing/src"],
    ),
    ("std::process::Command", &["crates/system/src", "crates/process/src"]),
    ("rusqlite", &["crates/store/src"]),
    ("println!", &["crates/testing/src"]),
    ("eprintln!", &[]),
    ("io::stdout", &["crates/jm/src/faces"]),
    // The terminal's descriptor itself: frames, and what restores it after a kill.
    (
        " stdout()",
        &["crates/jm/src/faces", "crates/tui/src/terminal", "crates/system/src/console.rs"],
    ),
    (
        "(stdout()",
        &["crates/jm/src/faces", "crates/tui/src/terminal", "crates/system/src/console.rs"],
    ),
    ("unsafe {", &["crates/system/src", "crates/files/src", "crates/process/src"]),
];

const UNFINISHED: &[&str] = &["todo!(", "unimplemented!(", "#[ignore", "TODO", "FIXME"];

fn long_files(sources: &[Source]) -> Vec<String> {
    let lengths = sources.iter().map(|(name, text)| (name, text.lines().count()));
    let long = lengths.filter(|(_, lines)| *lines > LONGEST_FILE);
    long.map(|(name, lines)| format!("{name}: {lines} lines")).collect()
}

#[test]
fn files_are_short() {
    let long = long_files(&sources());
    assert!(long.is_empty(), "longer than {LONGEST_FILE} lines: {long:#?}");
    assert_eq!(long_files(&planted("a.rs", &"x\n".repeat(501))), ["a.rs: 501 lines"]);
}

fn silent_files(sources: &[Source]) -> Vec<String> {
    let silent = sources.iter().filter(|(_, text)| !text.starts_with("//!"));
    silent.map(|(name, _)| name.clone()).collect()
}

#[test]
fn files_say_what_they_are() {
    let silent = silent_files(&sources());
    assert!(silent.is_empty(), "no `//!` at the top: {silent:#?}");
    assert_eq!(silent_files(&planted("a.rs", "use x;\n//! late\n")), ["a.rs"]);
}

fn unfinished(sources: &[Source]) -> Vec<String> {
    let mut hits = Vec::new();
    for (name, text) in sources.iter().filter(|(name, _)| !is_tidy(name)) {
        for (number, line) in text.lines().enumerate() {
            // A requirement and a file that bear the mark in their names.
            let line = line.replace("FJ-TODO", "").replace("docs/TODO.md", "");
            if UNFINISHED.iter().any(|mark| line.contains(mark)) {
                hits.push(format!("{name}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    hits
}

#[test]
fn nothing_is_left_unfinished() {
    let hits = unfinished(&sources());
    assert!(hits.is_empty(), "{hits:#?}");
    assert_eq!(unfinished(&planted("a.rs", "a\n// TODO: b\n")), ["a.rs:2: // TODO: b"]);
}

fn strays(sources: &[Source]) -> Vec<String> {
    let mut strays = Vec::new();
    for (name, text) in sources.iter().filter(|(name, _)| !is_test(name)) {
        for (number, line) in product(text).lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            for (word, rooms) in ROOMS {
                if code.contains(word) && !rooms.iter().any(|room| name.starts_with(room)) {
                    strays.push(format!("{name}:{}: {word}", number + 1));
                }
            }
        }
    }
    strays
}

#[test]
fn words_stay_in_their_rooms() {
    let strays_found = strays(&sources());
    assert!(strays_found.is_empty(), "{strays_found:#?}");
    let text = "use std::fs;\n// std::fs\n#[cfg(test)]\nmod tests {\nuse std::fs;\n}\n";
    assert_eq!(
        strays(&planted("crates/tools/src/a.rs", text)),
        ["crates/tools/src/a.rs:1: std::fs"]
    );
    assert_eq!(strays(&planted("crates/process/src/a.rs", text)), Vec::<String>::new());
}

fn unexplained_unsafe(sources: &[Source]) -> Vec<String> {
    let mut unexplained = Vec::new();
    for (name, text) in sources.iter().filter(|(name, _)| !is_tidy(name)) {
        let lines: Vec<&str> = text.lines().collect();
        for (number, _) in lines.iter().enumerate().filter(|(_, line)| line.contains("unsafe {")) {
            let above = &lines[number.saturating_sub(4)..number];
            if !above.iter().any(|line| line.contains("// SAFETY:")) {
                unexplained.push(format!("{name}:{}: no SAFETY comment", number + 1));
            }
        }
    }
    unexplained
}

#[test]
fn every_unsafe_block_says_why_it_is_sound() {
    let found = unexplained_unsafe(&sources());
    assert!(found.is_empty(), "{found:#?}");
    let text = "// SAFETY: none needed.\nunsafe {}\n\n\n\n\nunsafe {}\n";
    assert_eq!(unexplained_unsafe(&planted("a.rs", text)), ["a.rs:7: no SAFETY comment"]);
}
