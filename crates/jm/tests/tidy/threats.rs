//! Attacks: docs/threats.md names for each one tests that are there, and leaves none of a class out.

use std::collections::BTreeSet;

use crate::sources::repository;

const DOCUMENT: &str = "docs/threats.md";

/// The attacks on approval, by their numbers.
const FIRST: u32 = 191;
const LAST: u32 = 255;
/// Attacks that the variables of commands are about, not their approval.
const ELSEWHERE: std::ops::RangeInclusive<u32> = 242..=246;

/// A row: the numbers of its attacks, and the tests that it names.
struct Row {
    numbers: Vec<u32>,
    tests: Vec<String>,
}

fn rows(document: &str) -> Vec<Row> {
    let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let rows = document.lines().filter(|line| line.starts_with("| ")).map(cells);
    let row = |cells: Vec<String>| {
        let (class, _) = cells.get(1)?.split_once(':')?;
        let (first, last) = class.split_once(' ')?.1.split_once('-').unwrap_or_else(|| {
            let number = class.split_once(' ').map_or("", |(_, number)| number);
            (number, number)
        });
        let numbers = (first.parse().ok()?..=last.parse().ok()?).collect();
        let tests = cells.get(2)?.split(" · ").map(str::to_owned).collect();
        Some(Row { numbers, tests })
    };
    rows.filter_map(row).collect()
}

/// Tells whether a test is there: a section of a specification, a function, or a part of a table.
fn is_there(test: &str) -> bool {
    let Some((file, name)) = test.split_once(": ") else { return false };
    let file = if file.contains('.') { file.to_owned() } else { format!("{file}.md") };
    let path = repository().join("crates").join(&file);
    let Ok(text) = std::fs::read_to_string(path) else { return false };
    text.lines().any(|line| match file.rsplit('.').next() {
        Some("rs") => line.trim_start().starts_with(&format!("fn {name}(")),
        Some("md") => line.strip_prefix("## ").is_some_and(|title| title.starts_with(name)),
        _ => line == name,
    })
}

#[test]
fn each_attack_names_tests_that_are_there() {
    let rows = rows(&std::fs::read_to_string(repository().join(DOCUMENT)).unwrap());
    let missing: Vec<&String> =
        rows.iter().flat_map(|row| &row.tests).filter(|test| !is_there(test)).collect();
    assert!(missing.is_empty(), "no such test: {missing:#?}");
    let numbers: BTreeSet<u32> = rows.iter().flat_map(|row| row.numbers.clone()).collect();
    let all = (FIRST..=LAST).filter(|number| !ELSEWHERE.contains(number));
    assert_eq!(numbers, all.collect::<BTreeSet<u32>>());
    assert!(!is_there("jm/tests/spec/policy: No such section"));
    assert!(!is_there("shell/tests/rules.rs: no_such_function"));
}
