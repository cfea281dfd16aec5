//! Capabilities of the machine that tests need, probed by a script of their own (`../capability`).
//!
//! Law: a test is never green because something was missing. What is missing fails the test, unless
//! `JM_TESTS_ALLOW_MISSING` names it; then the table at the end of `./test` says what was not shown.

#![warn(missing_docs)]
#![allow(clippy::expect_used, reason = "part of the tests, which stop where they fail")]

use std::collections::BTreeMap;
use std::io::Write;
use std::panic::Location;
use std::process::{Command, Stdio};
use std::sync::Mutex;

const SCRIPT: &str = include_str!("../capability");
/// The variable that names what may be missing, separated by spaces or commas.
const ALLOWED: &str = "JM_TESTS_ALLOW_MISSING";
/// The variable that names a file for the table: capability, `here` or `missing`, test file.
const REPORT: &str = "JM_TESTS_REPORT";
/// The search path of a user who has no home here.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";

type Probed = BTreeMap<(String, Option<u32>), Result<(), String>>;

/// Each is probed once in a process.
static PROBED: Mutex<Probed> = Mutex::new(BTreeMap::new());

/// Says that the machine has it: a name that the script knows, or a program. Fails where it is
/// missing and need not be; `false` only where the person who runs the tests allowed that.
#[must_use]
#[track_caller]
pub fn has(capability: &str) -> bool {
    settle(capability, None, Location::caller().file())
}

/// The same for a user of this number, where the superuser runs the tests.
#[must_use]
#[track_caller]
pub fn has_as(user: u32, capability: &str) -> bool {
    settle(capability, Some(user), Location::caller().file())
}

/// The same, for tests that stand in another file than the code that asks.
#[must_use]
pub fn has_in(file: &str, capability: &str) -> bool {
    settle(capability, None, file)
}

fn settle(capability: &str, user: Option<u32>, file: &str) -> bool {
    let found = probe(capability, user);
    let Err(why) = found else {
        note(capability, "here", file);
        return true;
    };
    let allowed = std::env::var(ALLOWED).unwrap_or_default();
    assert!(
        may_be_missing(&allowed, capability),
        "this machine has no `{capability}` for user {user:?}: {why}\n\
         hint: {ALLOWED}='{capability}' runs the tests without it"
    );
    note(capability, "missing", file);
    println!("not shown, because {ALLOWED} names it: {capability}");
    false
}

fn may_be_missing(allowed: &str, capability: &str) -> bool {
    allowed.split([' ', ',']).any(|name| name == capability)
}

fn probe(capability: &str, user: Option<u32>) -> Result<(), String> {
    let mut probed = PROBED.lock().expect("no probe panics");
    let key = (capability.to_owned(), user);
    probed.entry(key).or_insert_with(|| run(capability, user)).clone()
}

fn run(capability: &str, user: Option<u32>) -> Result<(), String> {
    let mut command = match user {
        None => Command::new("bash"),
        Some(user) => {
            let mut command = Command::new("setpriv");
            command.args([format!("--reuid={user}"), format!("--regid={user}")]);
            command.args(["--clear-groups", "bash"]).env("PATH", PATH).current_dir("/");
            command
        }
    };
    command.args(["-c", SCRIPT, "capability", capability]).stdin(Stdio::null());
    let output = command.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    Err(String::from_utf8_lossy(&said).trim().to_owned())
}

/// Adds a line to the report, if one is wanted.
fn note(capability: &str, state: &str, file: &str) {
    let Some(report) = std::env::var_os(REPORT) else { return };
    let line = format!("{capability}\t{state}\t{file}\n");
    let mut options = std::fs::OpenOptions::new();
    let mut report = options.append(true).create(true).open(report).expect("the report opens");
    report.write_all(line.as_bytes()).expect("the report is written");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_an_error_with_its_reason() {
        let why = run("no-such-program", None).expect_err("there is none");
        assert_eq!(why, "there is no no-such-program");
    }

    #[test]
    #[should_panic(expected = "this machine has no `no-such-program`")]
    fn what_is_missing_fails_the_test() {
        let shown = has("no-such-program");
        println!("{shown}");
    }

    #[test]
    fn only_what_is_named_may_be_missing() {
        let cases = [
            ("landlock", true),
            ("bwrap,landlock", true),
            ("bwrap landlock", true),
            ("landlocked", false),
            ("", false),
            ("bwrap", false),
        ];
        for (allowed, expected) in cases {
            assert_eq!(may_be_missing(allowed, "landlock"), expected, "{allowed:?}");
        }
    }

    /// Every name of the list can be asked for, and none of them is mistaken for a program.
    #[test]
    fn the_script_knows_its_names() {
        let list = Command::new("bash").args(["-c", SCRIPT, "capability", "list"]).output();
        let list = String::from_utf8(list.expect("bash runs").stdout).expect("names are text");
        assert!(list.lines().count() > 20, "{list}");
        for name in ["namespaces", "bwrap", "landlock", "superuser", "strace", "small_disks"] {
            assert!(list.lines().any(|line| line == name), "{name}");
            assert!(SCRIPT.contains(&format!("\n{name}() {{")), "{name}");
        }
    }

    /// The script where no user namespace can be made: the limit holds within the one it runs in.
    fn without_namespaces(words: &[&str], allowed: &str) -> (bool, String) {
        let mut command = Command::new("unshare");
        let off = "echo 0 > /proc/sys/user/max_user_namespaces && exec bash \"$@\"";
        command.args(["--user", "--map-root-user", "bash", "-c", off, "bash", "-c", SCRIPT]);
        let output = command.arg("capability").args(words).env(ALLOWED, allowed).output();
        let output = output.expect("unshare runs");
        let said = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&said).into_owned())
    }

    #[test]
    fn where_user_namespaces_are_switched_off_the_check_fails_and_says_how_to_go_on() {
        assert!(has("namespaces") && has("unshare"));
        let (is_well, said) = without_namespaces(&["check"], "");
        assert!(!is_well && said.contains("missing: namespaces ("), "{said}");
        let offered =
            said.lines().find_map(|line| line.trim().strip_prefix("JM_TESTS_ALLOW_MISSING='"));
        let offered = offered.and_then(|rest| rest.strip_suffix("' ./test")).expect("it says how");
        assert!(offered.split(' ').any(|name| name == "namespaces"), "{offered}");
        let (is_well, said) = without_namespaces(&["check"], offered);
        assert!(is_well && said.contains("allows: namespaces"), "{said}");
    }

    #[test]
    fn the_table_names_the_suites_that_were_not_shown() {
        let report = std::env::temp_dir().join(format!("jm-report-{}", std::process::id()));
        let lines = "bwrap\there\tcrates/a.rs\nnamespaces\tmissing\tcrates/a.rs\n\
                     namespaces\tmissing\tcrates/b.rs\n";
        std::fs::write(&report, lines).expect("the report is written");
        let mut command = Command::new("bash");
        command.args(["-c", SCRIPT, "capability", "table"]).arg(&report);
        let table = String::from_utf8(command.output().expect("bash runs").stdout);
        std::fs::remove_file(&report).expect("it was there");
        let expected = "capability     state     tests that need it\nbwrap          shown     a.rs\n\
                        namespaces     NOT SHOWN a.rs b.rs\n";
        assert_eq!(table.expect("the table is text"), expected);
    }
}
