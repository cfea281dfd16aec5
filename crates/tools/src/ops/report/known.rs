//! Test runners by their command lines: which words run tests and nothing else.
//!
//! Law: an option that is not listed may name a program to run, so a command line that has one is an
//! ordinary command.

/// A way to run tests.
struct Known {
    words: &'static [&'static str],
    /// Options without a value.
    alone: &'static [&'static str],
    /// Options whose value is the next word or follows `=`.
    with_value: &'static [&'static str],
    operands: Operands,
}

#[derive(Clone, Copy, PartialEq)]
enum Operands {
    /// Names of tests, files or packages.
    Tests,
    /// A word more would be another target, a variable, or an argument of somebody's script.
    Nothing,
}

const CARGO: &[&str] = &[
    "--all",
    "--all-features",
    "--all-targets",
    "--bins",
    "--doc",
    "--examples",
    "--frozen",
    "--lib",
    "--locked",
    "--no-default-features",
    "--no-fail-fast",
    "--offline",
    "--quiet",
    "--release",
    "--tests",
    "--verbose",
    "--workspace",
    "-q",
    "-v",
    "-vv",
    // Behind `--`, for the tests themselves.
    "--",
    "--exact",
    "--ignored",
    "--include-ignored",
    "--nocapture",
    "--show-output",
];
const CARGO_VALUES: &[&str] = &[
    "--bin",
    "--color",
    "--example",
    "--exclude",
    "--features",
    "--jobs",
    "--package",
    "--skip",
    "--test",
    "--test-threads",
    "-F",
    "-j",
    "-p",
];
const NEXTEST_VALUES: &[&str] = &[
    "--bin",
    "--color",
    "--example",
    "--exclude",
    "--features",
    "--filter-expr",
    "--package",
    "--retries",
    "--test",
    "--test-threads",
    "-E",
    "-F",
    "-j",
    "-p",
];
const PYTEST: &[&str] = &[
    "--exitfirst",
    "--failed-first",
    "--last-failed",
    "--no-header",
    "--quiet",
    "--verbose",
    "-q",
    "-ra",
    "-s",
    "-v",
    "-vv",
    "-x",
];
const PYTEST_VALUES: &[&str] = &["--color", "--durations", "--maxfail", "--tb", "-k", "-m"];
const UNITTEST: &[&str] =
    &["discover", "--buffer", "--failfast", "--quiet", "--verbose", "-b", "-f", "-q", "-v"];
const GO: &[&str] = &["-cover", "-failfast", "-json", "-race", "-short", "-v"];
const GO_VALUES: &[&str] = &["-count", "-parallel", "-run", "-shuffle", "-skip", "-timeout"];
const NODE_VALUES: &[&str] =
    &["--test-concurrency", "--test-name-pattern", "--test-reporter", "--test-timeout"];

const fn known(words: &'static [&'static str], operands: Operands) -> Known {
    Known { words, alone: &[], with_value: &[], operands }
}

const KNOWN: &[Known] = &[
    Known {
        words: &["cargo", "test"],
        alone: CARGO,
        with_value: CARGO_VALUES,
        operands: Operands::Tests,
    },
    Known {
        words: &["cargo", "nextest", "run"],
        alone: CARGO,
        with_value: NEXTEST_VALUES,
        operands: Operands::Tests,
    },
    pytest(&["pytest"]),
    pytest(&["python", "-m", "pytest"]),
    pytest(&["python3", "-m", "pytest"]),
    unittest(&["python", "-m", "unittest"]),
    unittest(&["python3", "-m", "unittest"]),
    known(&["tox"], Operands::Nothing),
    Known { words: &["go", "test"], alone: GO, with_value: GO_VALUES, operands: Operands::Tests },
    Known {
        words: &["node", "--test"],
        alone: &["--test-only"],
        with_value: NODE_VALUES,
        operands: Operands::Tests,
    },
    script(&["npm", "test"]),
    script(&["npm", "run", "test"]),
    script(&["yarn", "test"]),
    script(&["pnpm", "test"]),
    known(&["make", "test"], Operands::Nothing),
    known(&["make", "check"], Operands::Nothing),
    known(&["just", "test"], Operands::Nothing),
    known(&["eldev", "test"], Operands::Nothing),
    known(&["eask", "test"], Operands::Nothing),
    known(&["cask", "exec", "ert-runner"], Operands::Nothing),
    Known {
        words: &["mix", "test"],
        alone: &["--failed", "--stale", "--trace"],
        with_value: &["--only", "--exclude", "--seed"],
        operands: Operands::Tests,
    },
    known(&["dotnet", "test"], Operands::Nothing),
    known(&["bundle", "exec", "rspec"], Operands::Tests),
];

const fn pytest(words: &'static [&'static str]) -> Known {
    Known { words, alone: PYTEST, with_value: PYTEST_VALUES, operands: Operands::Tests }
}

const fn unittest(words: &'static [&'static str]) -> Known {
    Known { words, alone: UNITTEST, with_value: &["-k"], operands: Operands::Tests }
}

const fn script(words: &'static [&'static str]) -> Known {
    Known { words, alone: &["--silent"], with_value: &[], operands: Operands::Nothing }
}

impl Known {
    fn runs(&self, command: &[String]) -> bool {
        let starts = command.len() >= self.words.len()
            && command.iter().zip(self.words).all(|(word, known)| word == known);
        let mut rest = command.iter().skip(self.words.len());
        starts
            && std::iter::from_fn(|| rest.next().map(|word| self.admits(word, &mut rest)))
                .all(|ok| ok)
    }

    fn admits<'a>(&self, word: &str, rest: &mut impl Iterator<Item = &'a String>) -> bool {
        if !word.starts_with('-') {
            return self.operands == Operands::Tests && !word.contains('=') && is_inside(word);
        }
        if self.alone.contains(&word) {
            return true;
        }
        match word.split_once('=') {
            Some((name, _)) => self.with_value.contains(&name),
            None => self.with_value.contains(&word) && rest.next().is_some(),
        }
    }
}

/// Tests of the project: an absolute path or one that leads up may be anything.
fn is_inside(operand: &str) -> bool {
    !operand.starts_with('/') && !operand.split('/').any(|part| part == "..")
}

/// Tells whether a command is what people type to run tests, and does nothing else.
pub(super) fn is_test_command(command: &[String]) -> bool {
    KNOWN.iter().any(|known| known.runs(command))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_harmless_words_make_a_test_runner() {
        let cases = [
            ("cargo test", true),
            ("cargo test --no-fail-fast -p a parse -- --nocapture", true),
            ("cargo test --config target.x.runner=\"./evil\"", false),
            ("cargo test --manifest-path ../x/Cargo.toml", false),
            ("cargo test -p", false),
            ("cargo tests", false),
            ("cargo +nightly test", false),
            ("cargo nextest run -E 'test(a)' --retries=2", true),
            ("cargo nextest run --config-file x", false),
            ("make test", true),
            ("make test SHELL=./evil", false),
            ("make test clean", false),
            ("make -f x test", false),
            ("go test ./... -run TestA -count=1", true),
            ("go test -exec ./evil ./...", false),
            ("go test -toolexec=./evil", false),
            ("pytest -q tests/test_a.py::test_b -k a", true),
            ("pytest -p evil", false),
            ("pytest -c evil.ini", false),
            ("pytest --rootdir=/x", false),
            ("pytest /tmp/evil.py", false),
            ("pytest ../evil.py", false),
            ("python3 -m unittest -v a.b", true),
            ("node --test --require ./evil.js", false),
            ("node --test a.test.js", true),
            ("npm test", true),
            ("npm test --silent", true),
            ("npm test -- --evil", false),
            ("npm test --script-shell=./evil", false),
            ("sh -c make", false),
        ];
        for (command, expected) in cases {
            let words: Vec<String> =
                command.split(' ').map(|word| word.trim_matches('\'').to_owned()).collect();
            assert_eq!(is_test_command(&words), expected, "{command}");
        }
    }
}
