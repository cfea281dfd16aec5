//! Outputs of test runners, and the numbers in them.

use super::counts::Counts;
use super::formats::find_counts;
use super::known::is_test_command;
use super::runner::Runner;

fn counts(total: u64, passed: u64, failed: u64, errors: u64, skipped: u64) -> Option<Counts> {
    Some(Counts { total, passed, failed, errors, skipped })
}

#[test]
fn every_format_is_counted() {
    let cases: &[(&str, &str, Option<Counts>)] = &[
        (
            "cargo, two programs and a crash",
            "     Running unittests src/lib.rs\n\ntest a ... ok\ntest result: FAILED. 3 passed; 1 failed; \
             2 ignored; 0 measured; 5 filtered out; finished in 0.00s\n\
             test result: ok. 4 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n\
             Caused by:\n  process didn't exit successfully: `x` (signal: 6, SIGABRT)\n",
            counts(11, 7, 1, 1, 2),
        ),
        (
            "nextest",
            "------------\n     Summary [   0.005s] 6 tests run: 3 passed (1 slow), 1 failed, 1 timed out, 1 exec \
             failed, 2 skipped\n        FAIL [ 0.002s] x t\n",
            counts(8, 3, 2, 1, 2),
        ),
        (
            "pytest, framed",
            "=== 1 failed, 2 passed, 1 skipped, 1 xfailed, 1 error in 0.03s ===\n",
            counts(6, 3, 1, 1, 1),
        ),
        ("pytest, quiet", "..\n2 passed in 0.01s\n", counts(2, 2, 0, 0, 0)),
        ("pytest, errors only", "=== 2 errors in 1.20s (0:01:02) ===\n", counts(2, 0, 0, 2, 0)),
        ("pytest, nothing", "=== no tests ran in 0.01s ===\n", counts(0, 0, 0, 0, 0)),
        (
            "unittest",
            "Ran 5 tests in 0.001s\n\nFAILED (failures=1, errors=2, skipped=1)\n",
            counts(5, 1, 1, 2, 1),
        ),
        ("unittest, good", "Ran 1 test in 0.001s\n\nOK\n", counts(1, 1, 0, 0, 0)),
        (
            "go",
            "--- FAIL: TestA (0.00s)\n    a_test.go:5: no\n--- SKIP: TestB (0.00s)\n--- PASS: TestC \
             (0.00s)\nFAIL\nFAIL\tx/a\t0.002s\nFAIL\tx/b [build failed]\nok  \tx/c\t0.001s\n",
            counts(4, 1, 1, 1, 1),
        ),
        (
            "go, as events",
            "{\"Action\":\"run\",\"Package\":\"a\",\"Test\":\"TestA\"}\n\
             {\"Action\":\"pass\",\"Package\":\"a\",\"Test\":\"TestA\"}\n\
             {\"Action\":\"fail\",\"Package\":\"a\",\"Test\":\"TestB\"}\n\
             {\"Action\":\"skip\",\"Package\":\"a\",\"Test\":\"TestC\"}\n\
             {\"Action\":\"fail\",\"Package\":\"a\"}\n{\"Action\":\"fail\",\"Package\":\"b\"}\n",
            counts(4, 1, 1, 1, 1),
        ),
        ("jest", "Tests:       1 failed, 1 skipped, 2 passed, 4 total\n", counts(4, 2, 1, 0, 1)),
        ("vitest", "      Tests  1 failed | 2 passed (3)\n", counts(3, 2, 1, 0, 0)),
        ("mocha", "  2 passing (5ms)\n  1 pending\n  1 failing\n", counts(4, 2, 1, 0, 1)),
        (
            "plain TAP",
            "1..4\nok 1 - a\nnot ok 2 - b\nok 3 - c # SKIP no\nnot ok 4 - d # todo later\n",
            counts(4, 1, 1, 0, 2),
        ),
        ("nothing known", "all good, 3 passed I think\n", None),
        ("an empty output", "", None),
    ];
    for (name, output, expected) in cases {
        assert_eq!(find_counts(output), *expected, "{name}");
    }
}

#[test]
fn runners_are_called_in_their_own_words() {
    let line = |runner: Runner, selector: Option<&str>| runner.command(selector).unwrap().join(" ");
    let files = vec!["test/a-test.el".to_owned()];
    let cases = [
        (line(Runner::Cargo, Some("a::b")), "cargo test --no-fail-fast --color=never a::b"),
        (line(Runner::Go, Some("TestA")), "go test -json -run=TestA ./..."),
        (line(Runner::Pytest(None), Some("a or b")), "pytest --color=no -k a or b"),
        (line(Runner::Pytest(None), Some("t.py::a")), "pytest --color=no t.py::a"),
        (
            line(Runner::Node, Some("name")),
            "node --test --test-reporter=tap --test-name-pattern=name",
        ),
        (
            line(Runner::Ert(files), Some("a\"\\b")),
            "emacs -Q --batch -L . -L lisp -L src -L test -L tests -l ert -l test/a-test.el --eval \
             (ert-run-tests-batch-and-exit \"a\\\"\\\\b\")",
        ),
    ];
    for (found, expected) in cases {
        assert_eq!(found, expected);
    }
    let refused = Runner::Cargo.command(Some("--config=x"));
    assert!(refused.is_err_and(|error| error.name() == "bad_args"));
}

#[test]
fn only_known_runners_are_taken_for_tests() {
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    assert!(is_test_command(&words("cargo test --workspace")));
    assert!(!is_test_command(&words("cargo run")));
    assert!(!is_test_command(&words("rm -rf test")));
}
