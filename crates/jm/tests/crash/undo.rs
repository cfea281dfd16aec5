//! Killed while taking back, and while bringing again: all files are on one side, and both ways are
//! still open.

use std::process::Command;

use crate::check;
use crate::machine::{Machine, Tree, text};
use crate::matrix::{Point, assert_nothing, in_parallel, killed_at, passed, points};
use crate::workload::{self, Workload};

/// Files that change, come, go and keep their permissions; directories that come and go; a file and
/// a directory that change places, and another pair.
const SCRIPT: &str = "echo 2 > a; rm b; chmod 600 c; mkdir -p n/empty; echo n > n/f; rm -r d; \
                      rm s; mkdir -p s/t; echo s > s/t/u; rm -r p; echo p > p; chmod 640 p";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Undo,
    Redo,
}

impl Way {
    fn word(self) -> &'static str {
        match self {
            Way::Undo => "undo",
            Way::Redo => "redo",
        }
    }

    fn command(self, machine: &Machine) -> Command {
        machine.jm(&[self.word(), "--session", "S"])
    }
}

/// The files before and after the command that is taken back.
struct Sides {
    before: Tree,
    after: Tree,
}

/// A machine just before the way is gone.
fn prepared(way: Way) -> (Machine, Sides) {
    let files = ["a", "b", "c", "d/e/f", "d/g", "s", "p/q/r", "p/v"]
        .map(|name| (name.to_owned(), format!("{name} 1\n")));
    let machine = Machine::new(&files);
    let before = machine.tree();
    let args = serde_json::json!({"command": SCRIPT}).to_string();
    let flags = ["--session", "S", "--yes", "--allow", "run_command"];
    succeed(&machine, &[&["call", "run_command", &args][..], &flags].concat());
    let after = machine.tree();
    if way == Way::Redo {
        succeed(&machine, &["undo", "--session", "S"]);
    }
    (machine, Sides { before, after })
}

fn succeed(machine: &Machine, args: &[&str]) {
    let ended = machine.run(args);
    assert_eq!(ended.status.code(), Some(0), "{args:?}: {}", text(&ended.stderr));
}

/// Settled, every file is where it was or where it was to go, all of them together; then the way is
/// gone once more, and back.
fn check_point(way: Way, choice: &str, point: &Point) -> Vec<String> {
    let (machine, sides) = prepared(way);
    killed_at(way.command(&machine), point);
    let mut wrong = Vec::new();
    let recovered = machine.recover(choice);
    if recovered.status.code() != Some(0) {
        wrong.push(format!("recover ended with {}", recovered.status));
    }
    wrong.extend(check::no_temporary_files(&machine.tree()));
    wrong.extend(check::verified(&machine));
    let now = machine.tree();
    let next = match (now == sides.before, now == sides.after) {
        (true, _) => Way::Redo,
        (_, true) => Way::Undo,
        (false, false) => {
            wrong.extend(check::difference(&sides.before, &now));
            wrong.extend(check::difference(&sides.after, &now));
            return named(way, choice, point, wrong);
        }
    };
    let back = if next == Way::Redo { Way::Undo } else { Way::Redo };
    for step in [next, back, next] {
        let ended = step.command(&machine).output().unwrap();
        let expected = if step == Way::Undo { &sides.before } else { &sides.after };
        if ended.status.code() != Some(0) || machine.tree() != *expected {
            let said = text(&ended.stdout) + &text(&ended.stderr);
            wrong.push(format!("{} afterwards: {said}", step.word()));
            wrong.extend(check::difference(expected, &machine.tree()));
        }
    }
    wrong.extend(check::verified(&machine));
    named(way, choice, point, wrong)
}

fn named(way: Way, choice: &str, (name, nth): &Point, wrong: Vec<String>) -> Vec<String> {
    let name = format!("{} at {name}:{nth}, {choice}", way.word());
    wrong.into_iter().map(|what| format!("{name}: {what}")).collect()
}

fn killed_everywhere(way: Way) {
    let (machine, _) = prepared(way);
    let points = points(passed(&machine, way.command(&machine)), 3);
    println!("{}: {} kills", way.word(), points.len());
    assert!(points.len() >= 12, "only {points:?}");
    let cases: Vec<(&str, &Point)> =
        ["keep", "discard"].into_iter().flat_map(|c| points.iter().map(move |p| (c, p))).collect();
    assert_nothing(&in_parallel(&cases, |(choice, point)| check_point(way, choice, point)));
}

/// NFR-REL-04
#[test]
fn killed_while_taking_back() {
    killed_everywhere(Way::Undo);
}

/// NFR-REL-04
#[test]
fn killed_while_bringing_again() {
    killed_everywhere(Way::Redo);
}

/// Discarding a result leaves the file; only `undo` as the choice takes it back. Either way the next undo
/// takes back what is there, and nothing else.
#[test]
fn what_was_only_discarded_can_be_taken_back() {
    for (choice, is_there) in [("discard", true), ("undo", false)] {
        let machine = Machine::new(&[]);
        let batches = vec![
            vec![workload::write("1", "first", "1\n")],
            vec![workload::write("2", "second", "2\n"), workload::write("3", "third", "3\n")],
        ];
        let lines = Workload { files: Vec::new(), batches }.lines();
        killed_at(machine.exec(&lines), &("effect.before_prepared".to_owned(), 3));
        let recovered = machine.recover(choice);
        assert_eq!(recovered.status.code(), Some(0), "{}", text(&recovered.stderr));
        let has = |name: &str| machine.tree().contains_key(name);
        assert_eq!((has("first"), has("second")), (true, is_there), "{choice}");
        succeed(&machine, &["undo", "--session", "S"]);
        assert_eq!((has("first"), has("second")), (is_there, false), "{choice}");
    }
}
