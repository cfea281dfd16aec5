//! Every expression selects the lines that `grep -E` selects, or is refused in its words.

use std::path::Path;
use std::process::Command;

use jm_dialects::posix::Expression;

use crate::Dice;

/// Both have one entry a line.
const LINES: &str = include_str!("lines.txt");
const EXPRESSIONS: &str = include_str!("expressions.txt");

/// A repetition of an anchor means nothing in POSIX, and GNU's two engines disagree about it.
fn generated(count: usize) -> Vec<String> {
    const ATOMS: &[&str] = &[
        "a",
        "b",
        ".",
        "[ab]",
        "[^a]",
        "(a|b)",
        "(ab)",
        "\\w",
        "x",
        "1",
        "(a*)",
        "é",
        "[[:alpha:]]",
    ];
    const TIMES: &[&str] = &["", "", "", "*", "+", "?", "{2}", "{1,2}", "{,2}"];
    const ANCHORS: &[&str] = &["", "", "", "^", "$", "\\b", "\\<"];
    let mut dice = Dice::new(0x5EED);
    let mut one = || {
        let mut text = String::new();
        for _ in 0..=dice.roll(4) {
            text.push_str(dice.pick(ANCHORS));
            text.push_str(dice.pick(ATOMS));
            text.push_str(dice.pick(TIMES));
        }
        if dice.roll(3) == 0 {
            text.push('|');
            text.push_str(dice.pick(ATOMS));
        }
        text
    };
    (0..count).map(|_| one()).collect()
}

/// The lines, from 1, that the system's own grep selects, or its complaint.
fn by_system(expression: &str, folder: &Path) -> Result<Vec<usize>, String> {
    let output = Command::new("grep")
        .args(["-E", "-n", "-a", "-h", "--", expression, "lines"])
        .env("LC_ALL", "C.UTF-8")
        .current_dir(folder)
        .output()
        .unwrap();
    if output.status.code() == Some(2) {
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        let last = words.lines().last().unwrap_or_default();
        return Err(last.trim_start_matches("grep: ").to_owned());
    }
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(printed.lines().map(|line| line.split(':').next().unwrap().parse().unwrap()).collect())
}

fn by_us(expression: &str) -> Result<Vec<usize>, String> {
    let compiled = Expression::new(expression)
        .map_err(|error| error.to_string().trim_start_matches("Invalid pattern: ").to_owned())?;
    let hits =
        LINES.lines().enumerate().filter(|(_, line)| compiled.matches(line.as_bytes()).unwrap());
    Ok(hits.map(|(at, _)| at + 1).collect())
}

#[test]
fn expressions_select_what_grep_selects() {
    let scratch = tempfile::tempdir().unwrap();
    std::fs::write(scratch.path().join("lines"), LINES).unwrap();
    let mut expressions: Vec<String> = EXPRESSIONS.lines().map(str::to_owned).collect();
    expressions.extend(generated(160));
    assert!(expressions.len() >= 300 + 60, "{}", expressions.len());
    let differences: Vec<String> = expressions
        .iter()
        .filter_map(|text| {
            let (theirs, ours) = (by_system(text, scratch.path()), by_us(text));
            (theirs != ours).then(|| format!("{text:?}\n  grep: {theirs:?}\n  ours: {ours:?}"))
        })
        .collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn an_expression_cannot_run_away() {
    let began = std::time::Instant::now();
    let long = "a".repeat(2_000);
    for text in
        ["(a*)*b", "(a+)+$", "(a|aa)+b", "(.*)(.*)(.*)x", "(a*)\\1*b", "((a{1,99}){1,99}){1,99}"]
    {
        if let Ok(expression) = Expression::new(text) {
            // It may say that it cannot decide; it must not go on for ever.
            drop(expression.matches(long.as_bytes()));
        }
    }
    assert!(began.elapsed().as_secs() < 60, "{:?}", began.elapsed());
}

/// Two back references on a long line are decided; where that would take too long, it is said.
#[test]
fn back_references_are_decided_or_said_not_to_be() {
    let expression = Expression::new("^(a*)(a*)\\1\\2$").unwrap();
    assert_eq!(expression.matches("a".repeat(4_000).as_bytes()), Ok(true));
    assert_eq!(expression.matches("a".repeat(3_001).as_bytes()), Ok(false));
    let error = Expression::new("^(a*)(a*)(a*)\\1\\2\\3b$").unwrap();
    let error = error.matches("a".repeat(20_000).as_bytes()).unwrap_err();
    assert!(error.to_string().contains("a line of 20000 bytes"), "{error}");
}
