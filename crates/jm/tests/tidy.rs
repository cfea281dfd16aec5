//! The habits that keep the project legible, as tests.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const LONGEST_FILE: usize = 500;

/// Which crates each crate may use; nobody uses `jm`.
const LAYERS: &[(&str, &[&str])] = &[
    ("types", &[]),
    ("workspace", &["jm-types"]),
    ("store", &["jm-types"]),
    ("providers", &["jm-types"]),
    ("tui", &["jm-types"]),
    ("tools", &["jm-types", "jm-workspace"]),
    ("engine", &["jm-types", "jm-workspace", "jm-tools", "jm-store"]),
    (
        "jm",
        &[
            "jm-types",
            "jm-workspace",
            "jm-tools",
            "jm-store",
            "jm-engine",
            "jm-providers",
            "jm-tui",
        ],
    ),
];

/// Words that belong to one room only.
const ROOMS: &[(&str, &[&str])] = &[
    ("std::fs", &["crates/workspace/src"]),
    ("std::process::Command", &["crates/workspace/src"]),
    ("rusqlite", &["crates/store/src"]),
    ("println!", &[]),
    ("eprintln!", &[]),
    ("io::stdout", &["crates/jm/src/faces"]),
    // The terminal's descriptor itself: frames, and what restores it after a kill.
    (
        " stdout()",
        &["crates/jm/src/faces", "crates/tui/src/terminal", "crates/workspace/src/console.rs"],
    ),
    (
        "(stdout()",
        &["crates/jm/src/faces", "crates/tui/src/terminal", "crates/workspace/src/console.rs"],
    ),
    ("unsafe {", &["crates/workspace/src"]),
];

const UNFINISHED: &[&str] = &["todo!(", "unimplemented!(", "#[ignore", "TODO", "FIXME"];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            found.extend(files(&path, ending));
        } else if name.ends_with(ending) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Rust sources as (path from the repository, text).
fn sources() -> Vec<(String, String)> {
    let root = repository();
    files(&root.join("crates"), ".rs")
        .into_iter()
        .map(|path| {
            let name = path.strip_prefix(&root).unwrap().display().to_string();
            (name, std::fs::read_to_string(&path).unwrap())
        })
        .collect()
}

fn is_test(name: &str) -> bool {
    name.contains("/tests/") || name.ends_with("tests.rs") || name.contains("/benches/")
}

/// What runs in the product: everything before the unit tests at the bottom.
fn product(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text)
}

#[test]
fn files_are_short() {
    let long: Vec<String> = sources()
        .iter()
        .map(|(name, text)| (name, text.lines().count()))
        .filter(|(_, lines)| *lines > LONGEST_FILE)
        .map(|(name, lines)| format!("{name}: {lines} lines"))
        .collect();
    assert!(long.is_empty(), "longer than {LONGEST_FILE} lines: {long:#?}");
}

#[test]
fn files_say_what_they_are() {
    let silent: Vec<String> = sources()
        .into_iter()
        .filter(|(_, text)| !text.starts_with("//!"))
        .map(|(name, _)| name)
        .collect();
    assert!(silent.is_empty(), "no `//!` at the top: {silent:#?}");
}

#[test]
fn nothing_is_left_unfinished() {
    let tidy = "crates/jm/tests/tidy.rs";
    let mut hits = Vec::new();
    for (name, text) in sources().iter().filter(|(name, _)| name != tidy) {
        for (number, line) in text.lines().enumerate() {
            // A requirement and a file that bear the mark in their names.
            let line = line.replace("FJ-TODO", "").replace("docs/TODO.md", "");
            if UNFINISHED.iter().any(|mark| line.contains(mark)) {
                hits.push(format!("{name}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    assert!(hits.is_empty(), "{hits:#?}");
}

#[test]
fn words_stay_in_their_rooms() {
    let mut strays = Vec::new();
    for (name, text) in sources().iter().filter(|(name, _)| !is_test(name)) {
        for (number, line) in product(text).lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            for (word, rooms) in ROOMS {
                if code.contains(word) && !rooms.iter().any(|room| name.starts_with(room)) {
                    strays.push(format!("{name}:{}: {word}", number + 1));
                }
            }
        }
    }
    assert!(strays.is_empty(), "{strays:#?}");
}

#[test]
fn every_unsafe_block_says_why_it_is_sound() {
    for (name, text) in sources().iter().filter(|(name, _)| !name.ends_with("tidy.rs")) {
        let lines: Vec<&str> = text.lines().collect();
        for (number, _) in lines.iter().enumerate().filter(|(_, line)| line.contains("unsafe {")) {
            let above = &lines[number.saturating_sub(4)..number];
            let says = above.iter().any(|line| line.contains("// SAFETY:"));
            assert!(says, "{name}:{}: no SAFETY comment", number + 1);
        }
    }
}

/// The dependencies of a manifest's section that are ours.
fn own_dependencies(manifest: &str) -> BTreeSet<String> {
    let section = manifest.split("[dependencies]").nth(1).unwrap_or_default();
    let section = section.split("\n[").next().unwrap_or_default();
    let name = |line: &str| line.split(['.', ' ', '=']).next().unwrap_or_default().to_owned();
    section.lines().map(name).filter(|name| name.starts_with("jm")).collect()
}

#[test]
fn crates_keep_their_layers() {
    let folder = repository().join("crates");
    let present: BTreeSet<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    let known: BTreeSet<String> = LAYERS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(present, known, "every crate has its place in LAYERS");
    for (name, allowed) in LAYERS {
        let manifest = std::fs::read_to_string(folder.join(name).join("Cargo.toml")).unwrap();
        let allowed: BTreeSet<String> = allowed.iter().map(|name| (*name).to_owned()).collect();
        let used = own_dependencies(&manifest);
        assert!(used.is_subset(&allowed), "{name} uses {used:?}, may use {allowed:?}");
    }
}

/// Where sockets of the internet are: the gate that commands pass, and its door inside the walls.
const GATE: &[&str] = &[
    "crates/workspace/src/gate/",
    "crates/workspace/src/launch/door.rs",
    "crates/workspace/src/confine/hosts.rs",
];

/// C-04: the tools themselves reach no network, because nothing they are built of can.
#[test]
fn the_tools_know_no_network() {
    for name in ["types", "workspace", "tools"] {
        let manifest = repository().join("crates").join(name).join("Cargo.toml");
        let text = std::fs::read_to_string(manifest).unwrap();
        for word in ["reqwest", "hyper", "ureq", "curl", "socket2", "\"net\""] {
            assert!(!text.contains(word), "{name} uses {word}");
        }
    }
    let is_gate = |name: &str| GATE.iter().any(|room| name.starts_with(room));
    for (name, text) in sources().iter().filter(|(name, _)| !is_test(name) && !is_gate(name)) {
        assert!(!product(text).contains("std::net"), "{name} uses std::net");
    }
}

/// FR-EXE-04b: a panic must be catchable in every profile.
#[test]
fn no_profile_aborts_on_panic() {
    let manifest = std::fs::read_to_string(repository().join("Cargo.toml")).unwrap();
    assert!(!manifest.contains("\"abort\""));
    assert!(manifest.contains("panic = \"unwind\""));
}

/// Requirement ids that a text mentions; `FR-LIM-01..06` and `FR-APR-04a..e` are ranges.
fn mentioned(text: &str) -> BTreeSet<String> {
    let mut ids = BTreeSet::new();
    let part = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let mut rest = text;
    while let Some(start) = rest.find(part) {
        let end = rest[start..].find(|c| !part(c)).map_or(rest.len(), |at| start + at);
        let token = &rest[start..end];
        ids.insert(token.to_owned());
        rest = &rest[end..];
        if let Some(last) = rest.strip_prefix("..") {
            let end = last.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(last.len());
            ids.extend(range(token, &last[..end]));
        }
    }
    ids
}

fn range(first: &str, last: &str) -> Vec<String> {
    let stem_length = first.len().saturating_sub(last.len());
    let (stem, from) = first.split_at(stem_length);
    if let (Ok(from), Ok(to)) = (from.parse::<u32>(), last.parse::<u32>()) {
        return (from..=to).map(|number| format!("{stem}{number:0w$}", w = last.len())).collect();
    }
    match (from.chars().next(), last.chars().next()) {
        (Some(from), Some(to)) if last.len() == 1 => {
            (from..=to).map(|letter| format!("{stem}{letter}")).collect()
        }
        _ => Vec::new(),
    }
}

fn list(name: &str) -> BTreeSet<String> {
    let path = repository().join("crates/jm/tests").join(name);
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// Test sources: test files, unit tests at the bottom of files, specifications.
fn test_texts() -> Vec<String> {
    let sources = sources().into_iter().filter(|(name, _)| !name.ends_with("tidy.rs"));
    let mut texts: Vec<String> = sources
        .map(|(name, text)| match is_test(&name) {
            true => text,
            false => text[product(&text).len()..].to_owned(),
        })
        .collect();
    let specifications = files(&repository().join("crates/jm/tests/spec"), ".md");
    texts.extend(specifications.iter().map(|path| std::fs::read_to_string(path).unwrap()));
    texts
}

/// The list of ids without a test may only shrink.
#[test]
fn requirements_have_tests() {
    let mut shown: BTreeSet<String> =
        test_texts().iter().flat_map(|text| mentioned(text)).collect();
    // Shown by the test above.
    shown.extend(["FR-EXE-04b", "C-04"].map(str::to_owned));
    let untested: BTreeSet<String> = list("requirements.txt").difference(&shown).cloned().collect();
    let listed = list("untested.txt");
    let new: Vec<_> = untested.difference(&listed).collect();
    let done: Vec<_> = listed.difference(&untested).collect();
    assert!(new.is_empty(), "no test names these requirements: {new:#?}");
    assert!(done.is_empty(), "these have a test now; take them off untested.txt: {done:#?}");
}

#[test]
fn ranges_of_ids_are_understood() {
    let cases: &[(&str, &[&str])] = &[
        ("(FR-LIM-01..03)", &["FR-LIM-01", "FR-LIM-02", "FR-LIM-03"]),
        ("FR-APR-04a..c,", &["FR-APR-04a", "FR-APR-04b", "FR-APR-04c"]),
        ("T-OUT-01: x", &["T-OUT-01"]),
    ];
    for (text, expected) in cases {
        let ids = mentioned(text);
        assert!(expected.iter().all(|id| ids.contains(*id)), "{text}: {ids:?}");
    }
    assert!(!mentioned("FR-LIM-01a").contains("FR-LIM-01"));
}
