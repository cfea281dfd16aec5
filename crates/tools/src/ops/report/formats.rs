//! The formats in which test runners print how many tests passed, failed, broke and were left out.
//!
//! Law: a number is reported only if a runner's own summary says it. Text that no runner is known
//! to print gives no counts at all.

use super::counts::Counts;
use super::tap;

/// Reads the counts of a test runner's output. The first format that is there counts.
pub(super) fn find_counts(output: &str) -> Option<Counts> {
    let formats =
        [cargo, nextest, ert, pytest, unittest, tap::node, go_json, go, jest, mocha, tap::plain];
    formats.iter().find_map(|format| format(output))
}

/// `3 passed; 1 failed` as pairs of a number and the word behind it.
fn pairs(line: &str) -> Vec<(u64, &str)> {
    let tokens: Vec<&str> =
        line.split(|c: char| !c.is_alphanumeric()).filter(|token| !token.is_empty()).collect();
    tokens.windows(2).filter_map(|two| Some((two[0].parse().ok()?, two[1]))).collect()
}

/// The number before the first of these words, or zero.
fn number(line: &str, words: &[&str]) -> u64 {
    pairs(line).iter().find(|(_, word)| words.contains(word)).map_or(0, |(number, _)| *number)
}

/// One summary for each test program; a program that crashed has none and says so elsewhere.
fn cargo(output: &str) -> Option<Counts> {
    let summaries =
        output.lines().filter_map(|line| line.trim_start().strip_prefix("test result: "));
    let of = |line: &str| {
        Counts::new(
            number(line, &["passed"]),
            number(line, &["failed"]),
            0,
            number(line, &["ignored"]),
        )
    };
    let counts = summaries.map(of).reduce(Counts::plus)?;
    let crashes = output.matches("process didn't exit successfully: ").count() as u64;
    Some(counts.plus(Counts::new(0, 0, crashes, 0)))
}

/// `Summary [ 0.005s] 4 tests run: 2 passed, 1 failed, 1 exec failed, 1 skipped`
fn nextest(output: &str) -> Option<Counts> {
    let line = output.lines().rfind(|line| {
        let line = line.trim_start();
        line.starts_with("Summary [") && (line.contains("tests run:") || line.contains("test run:"))
    })?;
    let (_, line) = line.split_once(':')?;
    let failed = number(line, &["failed"]) + number(line, &["timed"]);
    let (passed, broken) = (number(line, &["passed"]), number(line, &["exec"]));
    Some(Counts::new(passed, failed, broken, number(line, &["skipped"])))
}

/// A line for each test; what was signalled stands above it. A failure that was expected has passed.
fn ert(output: &str) -> Option<Counts> {
    let is_summary = |line: &str| line.starts_with("Ran ") && line.contains("as expected");
    output.lines().find(|line| is_summary(line))?;
    let mut counts = Counts::default();
    let mut signalled = None;
    let mut lines = output.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("Test ") && line.ends_with(" condition:") {
            signalled = lines.next().map(|line| line.trim_start().starts_with("(ert-test-failed"));
            continue;
        }
        let mut words = line.split_whitespace();
        let (Some(status), Some(place)) = (words.next(), words.next()) else { continue };
        let is_place = place
            .split_once('/')
            .is_some_and(|(at, of)| at.parse::<u64>().is_ok() && of.parse::<u64>().is_ok());
        if !is_place || !line.starts_with(' ') {
            continue;
        }
        counts = counts.plus(match (status, signalled.take()) {
            ("passed" | "failed", _) => Counts::new(1, 0, 0, 0),
            ("skipped" | "SKIPPED", _) => Counts::new(0, 0, 0, 1),
            ("FAILED", Some(false)) => Counts::new(0, 0, 1, 0),
            ("FAILED" | "PASSED", _) => Counts::new(0, 1, 0, 0),
            ("aborted" | "ABORTED" | "quit" | "QUIT", _) => Counts::new(0, 0, 1, 0),
            _ => Counts::default(),
        });
    }
    Some(counts)
}

/// `1 failed, 2 passed, 1 skipped, 1 error in 0.12s`, framed or not.
fn pytest(output: &str) -> Option<Counts> {
    const WORDS: [&str; 9] = [
        "passed",
        "failed",
        "error",
        "errors",
        "skipped",
        "xfailed",
        "xpassed",
        "deselected",
        "ran",
    ];
    let line = output.lines().rfind(|line| {
        let line = line.trim_matches(|c| c == '=' || c == ' ');
        let timed = line
            .split(" in ")
            .nth(1)
            .is_some_and(|time| time.starts_with(|c: char| c.is_ascii_digit()));
        timed
            && (line.starts_with("no tests ran")
                || pairs(line).first().is_some_and(|(_, word)| WORDS.contains(word)))
    })?;
    let passed =
        number(line, &["passed"]) + number(line, &["xfailed"]) + number(line, &["xpassed"]);
    let errors = number(line, &["error", "errors"]);
    Some(Counts::new(passed, number(line, &["failed"]), errors, number(line, &["skipped"])))
}

/// Python's own: `Ran 5 tests in 0.1s`, then `FAILED (failures=1, errors=1, skipped=1)`.
fn unittest(output: &str) -> Option<Counts> {
    let lines: Vec<&str> = output.lines().collect();
    let at = lines.iter().rposition(|line| {
        line.starts_with("Ran ") && line.contains(" test") && line.contains(" in ")
    })?;
    let total = number(lines[at], &["test", "tests"]);
    let verdict =
        lines[at..].iter().find(|line| line.starts_with("OK") || line.starts_with("FAILED"))?;
    let named = |name: &str| {
        let value = verdict.split(['(', ',', ')']).find_map(|part| part.trim().strip_prefix(name));
        value
            .and_then(|value| value.strip_prefix('='))
            .and_then(|value| value.parse().ok())
            .unwrap_or(0)
    };
    let failed = named("failures") + named("unexpected successes");
    let (errors, skipped) = (named("errors"), named("skipped"));
    let passed = u64::saturating_sub(total, failed + errors + skipped);
    Some(Counts::new(passed, failed, errors, skipped))
}

/// `go test -json`: an event for the end of each test; a package that fails without one broke.
fn go_json(output: &str) -> Option<Counts> {
    let events: Vec<serde_json::Value> = output
        .lines()
        .filter(|line| line.starts_with('{') && line.contains("\"Action\""))
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    if events.is_empty() {
        return None;
    }
    let ends = |action: &str| {
        let tests =
            events.iter().filter(|event| event["Action"] == action && event["Test"].is_string());
        tests.count() as u64
    };
    let is_broken = |event: &&serde_json::Value| {
        let failed_inside = events.iter().any(|other| {
            other["Package"] == event["Package"]
                && other["Test"].is_string()
                && other["Action"] == "fail"
        });
        event["Action"] == "fail" && event["Test"].is_null() && !failed_inside
    };
    let broken = events.iter().filter(is_broken).count() as u64;
    Some(Counts::new(ends("pass"), ends("fail"), broken, ends("skip")))
}

/// `go test`: a line for each test with `-v`; without it only failures, and a line a package.
fn go(output: &str) -> Option<Counts> {
    let starting = |start: &str| {
        output.lines().filter(|line| line.trim_start().starts_with(start)).count() as u64
    };
    let is_package = |line: &str| {
        line.starts_with("ok  \t") || line.starts_with("FAIL\t") || line.starts_with("?   \t")
    };
    output.lines().find(|line| is_package(line))?;
    let broken =
        output.lines().filter(|line| line.starts_with("FAIL\t") && line.ends_with("failed]"));
    let broken = broken.count() as u64;
    Some(Counts::new(
        starting("--- PASS: "),
        starting("--- FAIL: "),
        broken,
        starting("--- SKIP: "),
    ))
}

/// `Tests:  1 failed, 2 passed, 3 total` and vitest's `Tests  1 failed | 2 passed (3)`.
fn jest(output: &str) -> Option<Counts> {
    let line = output.lines().rfind(|line| {
        let rest = line.trim_start().strip_prefix("Tests");
        rest.is_some_and(|rest| rest.starts_with([':', ' ']) && !pairs(rest).is_empty())
    })?;
    let skipped = number(line, &["skipped"]) + number(line, &["todo"]);
    Some(Counts::new(number(line, &["passed"]), number(line, &["failed"]), 0, skipped))
}

/// `2 passing (5ms)`, `1 failing`, `1 pending`
fn mocha(output: &str) -> Option<Counts> {
    let word = |word: &str| {
        let is_it = |line: &&str| {
            let mut words = line.split_whitespace();
            words.next().is_some_and(|first| first.parse::<u64>().is_ok())
                && words.next() == Some(word)
        };
        output.lines().rfind(|line| is_it(line)).map(|line| number(line, &[word]))
    };
    let passed = word("passing")?;
    Some(Counts::new(passed, word("failing").unwrap_or(0), 0, word("pending").unwrap_or(0)))
}
