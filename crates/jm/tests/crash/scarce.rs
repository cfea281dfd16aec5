//! The workspace's disk, or the journal's, has a little room and then none: how much is swept, so
//! that each write in turn is the one that fails.
//!
//! Law: no file is half written, a result says what is there, nothing of ours is left lying about, and
//! with room again everything goes on.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

use crate::check;
use crate::closed::ended;
use crate::machine::{Image, Machine, Tree, text};
use crate::matrix::{assert_nothing, in_parallel, killed_at};
use crate::small_disk::{Disk, Scarce, on_small_disks};

const FLAGS: &[&str] = &["--session", "S", "--approve", "auto", "--yes", "--allow", "run_command"];
const PATCH: &str = "LP1\nF a\nR\nversion 0\n.\nversion 1\n.\nF sub/b\nR\nversion 0\n.\nversion 1\n.\n\
                     F c\nR\nversion 0\n.\nversion 1\n.\nF new/deep/d\nT\nfresh\n.\nEND\n";
/// More than the model is given, so that it is spooled and kept.
const CHATTY: &str =
    "echo ran >> ran.log && echo made > made && head -c 200000 /dev/zero | tr '\\0' x";

/// So many times in a row it is done: then it has the room it needs.
const ENOUGH: usize = 2;
const MOST: usize = 150;

/// Something that is done while there is little room.
pub(crate) struct Operation {
    pub(crate) name: &'static str,
    /// Runs before it, with room.
    prepare: fn(&Machine),
    pub(crate) run: fn(&Machine) -> Command,
    /// True if it can be done again where it was not done.
    repeats: bool,
}

pub(crate) const OPERATIONS: &[Operation] = &[
    Operation { name: "patch", prepare: read_all, run: patch, repeats: true },
    Operation { name: "write", prepare: read_all, run: write, repeats: true },
    Operation { name: "command", prepare: read_all, run: command, repeats: false },
    Operation { name: "undo", prepare: patched, run: |m| m.jm(UNDO), repeats: true },
    Operation { name: "redo", prepare: undone, run: |m| m.jm(REDO), repeats: true },
    Operation { name: "recover", prepare: cut_short, run: |m| m.jm(RECOVER), repeats: true },
    Operation { name: "gc", prepare: undone, run: |m| m.jm(&["gc"]), repeats: true },
];
const UNDO: &[&str] = &["undo", "--session", "S"];
const REDO: &[&str] = &["redo", "--session", "S"];
const RECOVER: &[&str] = &["recover", "--session", "S", "--on-recovery", "keep"];

fn call(machine: &Machine, tool: &str, args: &serde_json::Value) -> Command {
    machine.jm(&[&["call", tool, &args.to_string()][..], FLAGS].concat())
}

fn patch(machine: &Machine) -> Command {
    call(machine, "apply_patch", &serde_json::json!({"patch": PATCH}))
}

fn write(machine: &Machine) -> Command {
    let content = "line of text\n".repeat(2_000);
    call(machine, "write_file", &serde_json::json!({"path": "far/away/w", "content": content}))
}

fn command(machine: &Machine) -> Command {
    call(machine, "run_command", &serde_json::json!({"command": CHATTY}))
}

fn succeed(mut command: Command) {
    let ended = command.output().unwrap();
    let said = text(&ended.stdout) + &text(&ended.stderr);
    assert_eq!(ended.status.code(), Some(0), "{:?}: {said}", command.get_args());
}

fn read_all(machine: &Machine) {
    for path in ["a", "sub/b", "c"] {
        succeed(call(machine, "read_file", &serde_json::json!({"path": path})));
    }
}

fn patched(machine: &Machine) {
    read_all(machine);
    succeed(patch(machine));
}

fn undone(machine: &Machine) {
    patched(machine);
    succeed(machine.jm(UNDO));
}

fn cut_short(machine: &Machine) {
    read_all(machine);
    killed_at(patch(machine), &("commit.rename".to_owned(), 3));
}

fn files() -> Vec<(String, String)> {
    let padding = "more of it\n".repeat(600);
    let file = |name: &str| (name.to_owned(), format!("head of {name}\nversion 0\n{padding}"));
    vec![file("a"), file("sub/b"), file("c"), ("ran.log".to_owned(), String::new())]
}

/// Which disk is small.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Where {
    /// None: something else fails.
    Neither,
    Workspace,
    /// With the space that is kept for such a day, or without.
    State {
        has_reserve: bool,
    },
}

/// A machine that is put back to the same moment again and again.
pub(crate) struct Scene {
    pub(crate) machine: Machine,
    disk: Option<Disk>,
    image: Image,
    before: Tree,
    after: Tree,
}

impl Scene {
    pub(crate) fn new(operation: &Operation, place: Where) -> Self {
        let disk = (place != Where::Neither).then(|| Disk::mount().unwrap());
        let machine = match (place, &disk) {
            (Where::Workspace, Some(disk)) => {
                Machine::new(&[]).with_workspace(&disk.path().join("work"), &files())
            }
            (Where::State { .. }, Some(disk)) => {
                Machine::new(&files()).with_state(&disk.path().join("state"))
            }
            (Where::Neither, _) | (_, None) => Machine::new(&files()),
        };
        (operation.prepare)(&machine);
        let before = machine.tree();
        let image = machine.image("image");
        succeed((operation.run)(&machine));
        let after = machine.tree();
        Self { machine, disk, image, before, after }
    }

    pub(crate) fn rewind(&self, place: Where) {
        self.machine.rewind(&self.image);
        if place == (Where::State { has_reserve: false }) {
            fs::remove_file(self.machine.state().join("reserve")).unwrap_or_default();
        }
    }
}

#[derive(Debug, Default)]
struct Counts {
    done: usize,
    refused: usize,
}

/// One operation with so much room left; whether it was done, and all that is wrong.
fn squeeze(
    operation: &Operation,
    scene: &Scene,
    place: Where,
    (scarce, free): (Scarce, usize),
    counts: &mut Counts,
) -> Vec<String> {
    let Some(disk) = &scene.disk else { return Vec::new() };
    scene.rewind(place);
    disk.fill(scarce, free);
    let outcome = ended((operation.run)(&scene.machine));
    let meanwhile = check::without_temporaries(scene.machine.tree());
    disk.free();
    match outcome.0 {
        Some(0) => counts.done += 1,
        _ => counts.refused += 1,
    }
    let wrong = afterwards(operation, scene, &meanwhile, &outcome);
    let name = format!("{}, {place:?}, {free} {scarce:?}", operation.name);
    wrong.into_iter().map(|what| format!("{name}: {what}")).collect()
}

/// Checks the laws that hold once there is room again, whatever came of the operation.
pub(crate) fn afterwards(
    operation: &Operation,
    scene: &Scene,
    meanwhile: &Tree,
    (code, said): &(Option<i32>, String),
) -> Vec<String> {
    let machine = &scene.machine;
    let mut wrong = whole(operation, scene, meanwhile);
    if !matches!(code, Some(0..=3)) {
        wrong.push(format!("ended with {code:?}: {said}"));
    }
    if said.contains("nothing was run")
        && *meanwhile != check::without_temporaries(scene.before.clone())
    {
        wrong.push(format!("something was done: {said}"));
    }
    let settled = machine.recover("keep");
    if settled.status.code() != Some(0) {
        wrong.push(format!("not settled: {}{}", text(&settled.stdout), text(&settled.stderr)));
    }
    wrong.extend(truthful(operation, scene, (*code, said)));
    if operation.repeats && check::without_temporaries(machine.tree()) != scene.after {
        let (code, said) = ended((operation.run)(machine));
        if code != Some(0) {
            wrong.push(format!("it does not go on: {code:?}: {said}"));
        }
        wrong.extend(check::difference(&scene.after, &machine.tree()));
    }
    wrong.extend(check::no_temporary_files(&machine.tree()));
    wrong.extend(nothing_left_in(machine.state()));
    wrong.extend(check::verified(machine));
    wrong
}

/// Each file is what it was or what it shall be, also while there is no room.
fn whole(operation: &Operation, scene: &Scene, now: &Tree) -> Vec<String> {
    // What a command itself writes is its own affair.
    let is_ours = |path: &&String| operation.name != "command" || !is_of_command(path);
    let torn = now.iter().filter(|(path, _)| is_ours(path)).filter(|(path, found)| {
        ![scene.before.get(*path), scene.after.get(*path)].contains(&Some(found))
    });
    let gone = scene
        .before
        .keys()
        .filter(is_ours)
        .filter(|path| scene.after.contains_key(*path) && !now.contains_key(*path));
    let torn: Vec<&String> = torn.map(|(path, _)| path).chain(gone).collect();
    if torn.is_empty() { Vec::new() } else { vec![format!("not whole: {torn:?}")] }
}

fn is_of_command(path: &str) -> bool {
    ["ran.log", "made"].contains(&path)
}

/// Compares the answer, and what the journal says now, with what is there.
fn truthful(
    operation: &Operation,
    scene: &Scene,
    (code, said): (Option<i32>, &str),
) -> Vec<String> {
    let (machine, log) = (&scene.machine, scene.machine.log());
    let mut wrong = check::one_result_each(&log, "keep");
    let now = check::without_temporaries(machine.tree());
    match operation.name {
        "command" => {
            let lines = fs::read_to_string(machine.workspace().join("ran.log")).unwrap();
            let last = log.iter().rev().find(|entry| entry["name"] == "run_command");
            let error = last.map(|entry| entry["result"]["error"].clone());
            if lines.lines().count() > 1 || code == Some(0) && lines != "ran\n" {
                wrong.push(format!("{lines:?} after {code:?}, {error:?}: {said}"));
            }
            if lines == "ran\n" && error.as_ref().is_none_or(|error| error == "interrupted") {
                wrong.push(format!("it ran and the journal says {error:?}"));
            }
        }
        "gc" => wrong.extend(check::difference(&scene.before, &now)),
        _ => {
            let is_done = now == scene.after;
            if !is_done && now != scene.before {
                wrong.extend(check::difference(&scene.before, &now));
            }
            if code == Some(0) && !is_done {
                wrong.push(format!("it was said to be done: {said}"));
            }
            let last = log.last().filter(|_| ["patch", "write"].contains(&operation.name));
            let tool = if operation.name == "patch" { "apply_patch" } else { "write_file" };
            if let Some(last) = last.filter(|entry| entry["name"] == tool)
                && last["result"]["error"].is_null() != is_done
            {
                wrong.push(format!("done: {is_done}, and the journal says {}", last["result"]));
            }
        }
    }
    wrong
}

/// The state directory holds its files and no halves of any.
fn nothing_left_in(state: &Path) -> Vec<String> {
    let names = |path: &Path| -> Vec<String> {
        let entries = fs::read_dir(path).into_iter().flatten();
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
    };
    let halves = names(state).into_iter().filter(|name| name.ends_with(".tmp"));
    let left: Vec<String> = halves.chain(names(&state.join("spool"))).collect();
    if left.is_empty() { Vec::new() } else { vec![format!("left in the state: {left:?}")] }
}

/// As little room as there can be, then more, until the operation has what it needs.
fn sweep(place: Where, all: &[Scarce]) {
    let counts = Mutex::new(Vec::new());
    let cases: Vec<(&Operation, Scarce)> =
        OPERATIONS.iter().flat_map(|one| all.iter().map(move |scarce| (one, *scarce))).collect();
    let wrong = in_parallel(&cases, |(operation, scarce)| {
        let scene = Scene::new(operation, place);
        let mut own = Counts::default();
        let mut wrong = Vec::new();
        let mut in_a_row = 0;
        for level in (0..24).chain((24..MOST).step_by(6)) {
            if in_a_row == ENOUGH {
                break;
            }
            let done = own.done;
            wrong.extend(squeeze(operation, &scene, place, (*scarce, level), &mut own));
            in_a_row = if own.done > done { in_a_row + 1 } else { 0 };
        }
        if in_a_row < ENOUGH {
            wrong.push(format!("{}, {place:?}, {scarce:?}: never done", operation.name));
        }
        let mut counts = counts.lock().unwrap();
        counts.push(format!("{} {} {scarce:?}", operation.name, own.refused));
        wrong
    });
    println!("{place:?}: refused with too little: {}", counts.into_inner().unwrap().join(", "));
    assert_nothing(&wrong);
}

/// FR-TOOL-PATCH-01a, NFR-REL-04: pages and names run out beneath the files themselves.
#[test]
fn no_room_for_the_files() {
    on_small_disks("scarce::no_room_for_the_files", || {
        sweep(Where::Workspace, &[Scarce::Pages, Scarce::Inodes]);
    });
}

/// NFR-REL-04: the space that is kept for it is enough to say that there is no other.
#[test]
fn no_room_for_the_journal() {
    on_small_disks("scarce::no_room_for_the_journal", || {
        sweep(Where::State { has_reserve: true }, &[Scarce::Pages, Scarce::Inodes]);
    });
}

/// NFR-REL-04: each page that the journal writes, in turn, is the one too many.
#[test]
fn no_room_for_the_journal_and_no_reserve() {
    on_small_disks("scarce::no_room_for_the_journal_and_no_reserve", || {
        sweep(Where::State { has_reserve: false }, &[Scarce::Pages]);
    });
}
