//! Commands on layers, killed: the workspace is as before the command or as it was kept, and nothing between.
//!
//! Law: every case is told by the tree alone. Before the record of the layer nothing of the command counts; after
//! it recovery goes to one side, and what is on the other can still be had.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::json;

use crate::machine::{Machine, Tree, text};
use crate::matrix::{Point, assert_nothing, in_parallel, killed_at, points};

/// Creates, changes, replaces, deletes, in the root and below, with `.git` and an ignored file among it.
const COMMAND: &str = "echo more >> a; rm -rf sub .git; mkdir -p new/deep; echo x > new/deep/x; \
                       chmod 700 keep; echo y > keep/y; rm ignored.cfg; echo flat > dir.tmp; \
                       rm -r dir; mv dir.tmp dir";

fn files() -> Vec<(String, String)> {
    let file = |(name, content): &(&str, &str)| ((*name).to_owned(), (*content).to_owned());
    let all = [
        ("a", "one\n"),
        ("sub/b", "two\n"),
        ("sub/deep/c", "three\n"),
        (".git/HEAD", "ref: refs/heads/main\n"),
        (".git/objects/00/11", "object\n"),
        (".gitignore", "ignored.cfg\n"),
        ("ignored.cfg", "mine\n"),
        ("keep/k", "kept\n"),
        ("dir/in", "inside\n"),
    ];
    all.iter().map(file).collect()
}

/// Layers need both; what is missing fails the test, unless whoever runs it allows that.
fn works() -> bool {
    jm_testing::has("namespaces") && jm_testing::has("overlay")
}

fn machine() -> Machine {
    Machine::new(&files())
}

fn held(machine: &Machine) -> Command {
    let call = json!({"id": "c1", "name": "run_command", "args": {"command": COMMAND}});
    let mut command = machine.exec(&[call.to_string()]);
    command.env("JM_TOOLS_SANDBOX_COMMANDS_LAYER", "on");
    command
}

/// The trees before and after, and the points that are passed between.
struct Sides {
    before: Tree,
    after: Tree,
    passed: BTreeMap<String, usize>,
}

fn sides() -> Sides {
    let machine = machine();
    let before = machine.tree();
    let passed = crate::matrix::passed(&machine, held(&machine));
    let after = machine.tree();
    assert_ne!(before, after);
    assert!(passed.contains_key("layer.step"), "{passed:?}");
    Sides { before, after, passed }
}

/// One kill, recovered: what is wrong with it.
fn recovered(machine: &Machine, sides: &Sides, choice: &str) -> Vec<String> {
    machine.rest();
    let recovered = machine.recover(choice);
    let mut wrong = Vec::new();
    if recovered.status.code() != Some(0) {
        wrong.push(format!("recover ended with {}: {}", recovered.status, text(&recovered.stderr)));
    }
    let tree = machine.tree();
    let log = machine.log();
    let is_kept = tree == sides.after;
    if tree != sides.before && !is_kept {
        wrong.push(format!("neither side: {:?}", tree.keys().collect::<Vec<_>>()));
    }
    if choice == "undo" && is_kept {
        wrong.push("kept although it was to be undone".to_owned());
    }
    // The result says the same as the tree.
    let said = log.first().map(|entry| entry["result"].to_string()).unwrap_or_default();
    if is_kept && said.contains("nothing that it changed") {
        wrong.push(format!("kept, and it says {said}"));
    }
    if is_kept {
        let undone = machine.run(&["undo", "--session", "S"]);
        if machine.tree() != sides.before {
            wrong.push(format!("undo: {}{}", text(&undone.stdout), text(&undone.stderr)));
        }
        let redone = machine.run(&["redo", "--session", "S"]);
        if machine.tree() != sides.after {
            wrong.push(format!("redo: {}{}", text(&redone.stdout), text(&redone.stderr)));
        }
    }
    wrong.extend(crate::check::verified(machine));
    wrong
}

/// NFR-REL-04: killed at every point between the end of a command and the end of its commit.
#[test]
fn killed_at_every_point_of_keeping() {
    if !works() {
        return;
    }
    let sides = sides();
    let points: Vec<Point> = points(sides.passed.clone(), 12);
    let mut cases: Vec<(Point, &str)> = Vec::new();
    for point in &points {
        cases.push((point.clone(), "keep"));
        if point.0.starts_with("layer.") {
            cases.push((point.clone(), "undo"));
        }
    }
    println!("{} kills", cases.len());
    let wrong = in_parallel(&cases, |(point, choice)| {
        let machine = machine();
        killed_at(held(&machine), point);
        let found = recovered(&machine, &sides, choice);
        found.into_iter().map(|what| format!("{}:{} {choice}: {what}", point.0, point.1)).collect()
    });
    assert_nothing(&wrong);
}

/// A layer that never reached its record is offered to the person, and can be kept as it is.
#[test]
fn what_was_not_recorded_is_offered() {
    if !works() {
        return;
    }
    let sides = sides();
    let machine = machine();
    killed_at(held(&machine), &("layer.synced".to_owned(), 1));
    machine.rest();
    let told = machine.recover("keep");
    assert_eq!(machine.tree(), sides.before, "{}", text(&told.stdout));
    let said = machine.log()[0]["result"]["content"].to_string();
    assert!(said.contains("jm held keep"), "{said}");
    let kept = machine.run(&["held", "keep"]);
    assert_eq!(kept.status.code(), Some(0), "{}", text(&kept.stderr));
    assert_eq!(machine.tree(), sides.after);
}

/// Killed while an undo goes back: undone or in force, never between.
#[test]
fn killed_at_every_point_of_undoing() {
    if !works() {
        return;
    }
    let sides = sides();
    let kept = || {
        let machine = machine();
        assert!(held(&machine).stdout(Stdio::null()).status().unwrap().success());
        machine
    };
    let undo = |machine: &Machine| machine.jm(&["undo", "--session", "S"]);
    let first = kept();
    let passed = crate::matrix::passed(&first, undo(&first));
    assert_eq!(first.tree(), sides.before);
    let points = points(passed, 12);
    println!("{} kills", points.len());
    let wrong = in_parallel(&points, |point| {
        let machine = kept();
        killed_at(undo(&machine), point);
        let recovered = machine.recover("keep");
        let tree = machine.tree();
        let mut wrong = Vec::new();
        if recovered.status.code() != Some(0) {
            wrong.push(format!("recover: {}", text(&recovered.stderr)));
        }
        if tree != sides.before && tree != sides.after {
            wrong.push(format!("neither side: {:?}", tree.keys().collect::<Vec<_>>()));
        }
        // From wherever it is, both sides can be reached.
        let way = if tree == sides.before { ["redo", "undo"] } else { ["undo", "redo"] };
        let ends = if tree == sides.before { &sides.after } else { &sides.before };
        let said = machine.run(&[way[0], "--session", "S"]);
        if machine.tree() != *ends {
            wrong.push(format!("{}: {}{}", way[0], text(&said.stdout), text(&said.stderr)));
        }
        wrong.into_iter().map(|what| format!("{}:{}: {what}", point.0, point.1)).collect()
    });
    assert_nothing(&wrong);
}

/// NFR-REL-04: at moments that nobody chose.
#[test]
fn killed_at_random_moments_of_a_held_command() {
    if !works() {
        return;
    }
    let sides = sides();
    let began = std::time::Instant::now();
    let whole = machine();
    assert!(held(&whole).stdout(Stdio::null()).status().unwrap().success());
    let lasts = began.elapsed();
    let count = if std::env::var_os("JM_LONG").is_some() { 300 } else { 40 };
    let seeds: Vec<u32> = (0..count).collect();
    let wrong = in_parallel(&seeds, |seed| {
        let machine = machine();
        let mut child = held(&machine).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // Spread over the whole run, the later half twice as close.
        let part = f64::from(*seed) / f64::from(count);
        std::thread::sleep(Duration::from_secs_f64(lasts.as_secs_f64() * 1.2 * part.sqrt()));
        child.kill().unwrap();
        child.wait().unwrap();
        let found = recovered(&machine, &sides, "keep");
        found.into_iter().map(|what| format!("seed {seed}: {what}")).collect()
    });
    assert_nothing(&wrong);
}

/// A layer that is set aside, and kept by hand: all of it, or some of its files.
fn set_aside() -> (Machine, String) {
    let machine = machine();
    let mut command = machine.jm(&["sandbox", "--hold", "--", "sh", "-c", COMMAND]);
    let ended = command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
    assert_eq!(ended.code(), Some(3));
    let listed = text(&machine.run(&["held", "list"]).stdout);
    let id = listed.split_whitespace().next().unwrap().to_owned();
    (machine, id)
}

/// NFR-REL-04: killed at every point of a keeping by hand. What was chosen is kept or it is not, what is not in the
/// workspace is held, and all of it can be kept in the end.
#[test]
fn killed_at_every_point_of_keeping_by_hand() {
    if !works() {
        return;
    }
    let sides = sides();
    for paths in [&[][..], &["new/deep", "a", "dir"]] {
        let keep = |machine: &Machine, id: &str| {
            let words = ["held", "keep", id].iter().chain(paths).copied().collect::<Vec<_>>();
            machine.jm(&words)
        };
        let (first, id) = set_aside();
        let passed = crate::matrix::passed(&first, keep(&first, &id));
        assert!(passed.contains_key("held.finished"), "{passed:?}");
        let chosen = first.tree();
        let points = points(passed, 4);
        println!("{} kills", points.len());
        let wrong = in_parallel(&points, |point| {
            let (machine, id) = set_aside();
            killed_at(keep(&machine, &id), point);
            machine.rest();
            let mut wrong = Vec::new();
            let recovered = machine.run(&["recover", "--on-recovery", "keep"]);
            if recovered.status.code() != Some(0) {
                wrong.push(format!("recover: {}", text(&recovered.stderr)));
            }
            let tree = machine.tree();
            if tree != sides.before && tree != chosen {
                wrong.push(format!("neither side: {:?}", tree.keys().collect::<Vec<_>>()));
            }
            let listed = text(&machine.run(&["held", "list"]).stdout);
            for id in listed.lines().filter_map(|line| line.split_whitespace().next()) {
                let kept = machine.run(&["held", "keep", id]);
                if kept.status.code() != Some(0) {
                    wrong.push(format!("keep {id}: {}", text(&kept.stderr)));
                }
            }
            if machine.tree() != sides.after {
                wrong.push(format!("not all of it could be kept; held were:\n{listed}"));
            }
            wrong.extend(crate::check::verified(&machine));
            wrong.into_iter().map(|what| format!("{}:{}: {what}", point.0, point.1)).collect()
        });
        assert_nothing(&wrong);
    }
}
