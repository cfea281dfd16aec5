//! Promises of a search, whatever is in the tree.

use std::collections::BTreeSet;

use jm_files::SandboxSettings;
use jm_tools::ops::find::Find;
use jm_tools::ops::search::{Case, Query, Search, Syntax};

use crate::{places, scope, tree};

fn literal(text: &str) -> Search {
    let query = Query { text: text.to_owned(), syntax: Syntax::Literal, case: Case::Sensitive };
    Search::new(query)
}

#[test]
fn a_cut_search_gives_the_first_matches_in_every_run() {
    let scratch = tempfile::tempdir().unwrap();
    tree::grow(scratch.path());
    let scope = scope(&SandboxSettings::rooted_at(scratch.path()));
    let all = Search { most: usize::MAX / 2, ..literal("needle") }.run(&scope).unwrap();
    let paths: Vec<&str> = all.files.iter().map(|file| file.path.as_str()).collect();
    assert!(paths.is_sorted_by(|a, b| std::path::Path::new(a) < std::path::Path::new(b)));
    let mut first = Vec::new();
    for file in &all.files {
        for line in &file.lines {
            first.extend(line.hits.iter().map(|hit| (file.path.clone(), line.number, hit.column)));
        }
    }
    for most in [1, 2, 10, 50] {
        for _ in 0..5 {
            let cut = Search { most, ..literal("needle") }.run(&scope).unwrap();
            assert!(cut.is_cut);
            let expected: BTreeSet<_> = first[..most].iter().cloned().collect();
            assert_eq!(places(&cut), expected, "{most}");
        }
    }
}

/// Read on one thread and searched on another.
#[test]
fn a_long_file_is_searched_to_its_end() {
    let scratch = tempfile::tempdir().unwrap();
    let scope = scope(&SandboxSettings::rooted_at(scratch.path()));
    let hay = "a needle\n".to_owned() + &"a line of hay\n".repeat(1_500_000);
    std::fs::write(scratch.path().join("long"), hay + "the last needle").unwrap();
    let found = literal("needle").run(&scope).unwrap();
    let expected = [("long".to_owned(), 1, 3), ("long".to_owned(), 1_500_002, 10)];
    assert_eq!(places(&found), BTreeSet::from(expected));
    let first = Search { most: 1, ..literal("needle") }.run(&scope).unwrap();
    assert_eq!((places(&first).len(), first.is_cut), (1, true));
}

#[test]
fn nothing_outside_and_nothing_denied_is_searched() {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().join("root");
    let outside = scratch.path().join("outside");
    for folder in [&root, &outside] {
        std::fs::create_dir(folder).unwrap();
        std::fs::write(folder.join("f.txt"), "needle\n").unwrap();
    }
    std::fs::write(root.join(".env"), "needle\n").unwrap();
    std::fs::create_dir(root.join("private")).unwrap();
    std::fs::write(root.join("private/f.txt"), "needle\n").unwrap();
    std::os::unix::fs::symlink(&outside, root.join("absolute")).unwrap();
    std::os::unix::fs::symlink("../outside", root.join("relative")).unwrap();
    std::os::unix::fs::symlink("../outside/f.txt", root.join("file")).unwrap();
    let settings = SandboxSettings {
        denied_patterns: vec!["private/".to_owned()],
        ..SandboxSettings::rooted_at(&root)
    };
    let scope = scope(&settings);
    let everything = Search { hidden: true, ignored: true, ..literal("needle") };
    let found = everything.run(&scope).unwrap();
    assert_eq!(places(&found), BTreeSet::from([("f.txt".to_owned(), 1, 1)]));
    let find = Find {
        path: ".".to_owned(),
        patterns: vec!["**/*.txt".to_owned(), ".env".to_owned()],
        hidden: true,
        ignored: true,
        most: 100,
    };
    let names: Vec<String> =
        find.run(&scope).unwrap().files.into_iter().map(|file| file.path).collect();
    assert_eq!(names, ["f.txt"]);
    for path in ["relative", "absolute", "file", "private", ".env", "../outside"] {
        let search = Search { path: path.to_owned(), ..literal("needle") };
        assert!(search.run(&scope).is_err(), "{path}");
    }
}

#[test]
fn a_file_with_a_nul_anywhere_is_binary() {
    let scratch = tempfile::tempdir().unwrap();
    let late = [b"needle\n".repeat(20_000), b"\0".to_vec()].concat();
    std::fs::write(scratch.path().join("late"), late).unwrap();
    std::fs::write(scratch.path().join("early"), b"\0needle\n").unwrap();
    std::fs::write(scratch.path().join("text"), b"needle\n").unwrap();
    let scope = scope(&SandboxSettings::rooted_at(scratch.path()));
    let found = Search { most: 100_000, ..literal("needle") }.run(&scope).unwrap();
    assert_eq!(places(&found), BTreeSet::from([("text".to_owned(), 1, 1)]));
}

#[test]
fn names_are_found_by_glob_past_what_is_ignored() {
    let scratch = tempfile::tempdir().unwrap();
    tree::grow(scratch.path());
    let scope = scope(&SandboxSettings::rooted_at(scratch.path()));
    let find = |pattern: &str| {
        let find = Find {
            path: ".".to_owned(),
            patterns: vec![pattern.to_owned()],
            hidden: false,
            ignored: false,
            most: 1000,
        };
        let found = find.run(&scope).unwrap();
        found.files.into_iter().map(|file| file.path).collect::<Vec<_>>()
    };
    assert_eq!(find("main.rs"), ["main.rs", "src/main.rs"]);
    assert_eq!(find("*.log"), ["keep.log"]);
    assert_eq!(
        find("docs/**/*.{md,rs}"),
        ["docs/deep/a.md", "docs/file21.md", "docs/file45.md", "docs/file57.md", "docs/file9.md"]
    );
    assert_eq!(find("/nothing"), [""; 0]);
    assert_eq!(find("{a,b}*.txt"), ["a*b.txt"]);
}

#[test]
fn a_deep_and_a_wide_tree_cost_few_descriptors() {
    let scratch = tempfile::tempdir().unwrap();
    let mut deep = scratch.path().to_owned();
    for _ in 0..400 {
        deep.push("d");
        std::fs::create_dir(&deep).unwrap();
    }
    std::fs::write(deep.join("f"), "needle\n").unwrap();
    for number in 0..3000 {
        let folder = scratch.path().join(format!("w{number}"));
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("f"), "needle\n").unwrap();
    }
    let scope = scope(&SandboxSettings::rooted_at(scratch.path()));
    let found = Search { most: 10_000, ..literal("needle") }.run(&scope).unwrap();
    assert_eq!(found.files.len(), 3001);
    assert_eq!(found.notes, [""; 0]);
}
