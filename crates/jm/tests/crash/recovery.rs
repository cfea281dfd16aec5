//! Killed, and killed again while recovering: the end is the same as with one recovery.

use serde_json::Value;

use crate::check;
use crate::machine::Machine;
use crate::matrix::{Point, assert_nothing, in_parallel, killed_at, passed, passed_by, points};
use crate::workload::{self, Workload, without_commands};

/// Kills in the middle of a change of several files, after all of it, and between calls: a place,
/// and how many times before the last that it is passed.
const FIRST: &[(&str, usize)] = &[
    ("call.after_started", 0),
    ("effect.before_prepared", 0),
    ("commit.rename", 0),
    ("commit.rename", 1),
    ("commit.rename", 4),
    ("commit.rename", 8),
    ("commit.sync_directory", 0),
    ("call.before_finished", 0),
];

fn killed_first(workload: &Workload, first: &Point) -> Machine {
    let machine = Machine::new(&workload.files);
    killed_at(machine.exec(&workload.lines()), first);
    machine
}

fn recovery(machine: &Machine, choice: &str) -> std::process::Command {
    machine.jm(&["recover", "--session", "S", "--on-recovery", choice])
}

struct Case {
    first: Point,
    choice: &'static str,
}

/// Every point that this recovery passes, as a second kill.
fn check_case(workload: &Workload, case: &Case) -> Vec<String> {
    let machine = killed_first(workload, &case.first);
    let image = machine.image("killed");
    let seconds = points(passed(&machine, recovery(&machine, case.choice)), 1);
    let expected = without_commands(machine.tree());
    let results = |log: &[Value]| -> Vec<_> {
        log.iter().map(|entry| (entry["id"].clone(), entry["result"]["error"].clone())).collect()
    };
    let told = results(&machine.log());
    let mut wrong = Vec::new();
    for (number, second) in seconds.iter().enumerate() {
        machine.rewind(&image);
        killed_at(recovery(&machine, case.choice), second);
        let ended = machine.recover(case.choice).status;
        let mut found = Vec::new();
        if ended.code() != Some(0) {
            found.push(format!("recover ended with {ended}"));
        }
        let (log, tree) = (machine.log(), machine.tree());
        found.extend(check::no_temporary_files(&tree));
        let files = check::without_temporaries(without_commands(tree));
        found.extend(check::difference(&check::without_temporaries(expected.clone()), &files));
        if results(&log) != told {
            found.push("the results are other ones".to_owned());
        }
        found.extend(check::one_result_each(&log, case.choice));
        found.extend(check::verified(&machine));
        // Four more processes, for what does not depend much on where the second kill was.
        if number % 3 == 0 {
            found.extend(check::settled(&machine, "a"));
        }
        wrong.extend(found.into_iter().map(|what| name(case, second, &what)));
    }
    println!("{:?} {}: {} kills in recovery", case.first, case.choice, seconds.len());
    wrong
}

fn name(case: &Case, second: &Point, what: &str) -> String {
    let Case { first, choice } = case;
    format!("{}:{} {choice}, then {}:{}: {what}", first.0, first.1, second.0, second.1)
}

fn killed_twice(choice: &'static str) {
    let workload = workload::every_kind();
    let passed = passed_by(&workload);
    let point = |name: &str, before_last| (name.to_owned(), passed[name] - before_last);
    let case =
        |(name, before_last): &(&str, usize)| Case { first: point(name, *before_last), choice };
    let cases: Vec<Case> = FIRST.iter().map(case).collect();
    assert_nothing(&in_parallel(&cases, |case| check_case(&workload, case)));
}

/// NFR-REL-04: recovery is idempotent, wherever it is cut short.
#[test]
fn killed_while_keeping() {
    killed_twice("keep");
}

/// NFR-REL-04, FR-RES-05
#[test]
fn killed_while_discarding() {
    killed_twice("discard");
}

/// NFR-REL-04, FR-RES-05
#[test]
fn killed_while_undoing() {
    killed_twice("undo");
}

/// The person who decides sees all of what was changed, whatever a terminal would make of it.
#[test]
fn nothing_is_hidden_from_who_decides() {
    let machine = Machine::new(&[]);
    let batches = vec![vec![workload::write("1", "a", "shown \u{1b}_; rm -rf ~\n")]];
    let lines = Workload { files: Vec::new(), batches }.lines();
    killed_at(machine.exec(&lines), &("call.before_finished".to_owned(), 1));
    let asked = machine.run(&["recover", "--session", "S", "--on-recovery", "fail"]);
    let told = crate::machine::text(&asked.stdout);
    assert!(told.contains("+shown <U+001B>_; rm -rf ~\n"), "{told}");
    let undone = machine.run(&["undo", "--session", "S", "--on-recovery", "keep"]);
    let told = crate::machine::text(&undone.stderr);
    assert!(told.contains("+shown <U+001B>_; rm -rf ~\n"), "{told}");
}
