//! A change that failed never was, and an undo that failed took nothing back.

use std::process::Stdio;

use crate::world::{GONE, World, write_file};

impl World {
    /// One call, or one command of ours, whose second file is refused at `point`.
    fn refused_at(&self, point: &str, args: &[&str]) -> String {
        let mut command = self.command(env!("CARGO_BIN_EXE_jm"));
        command.env("JM_FAIL", format!("{point}:2")).args(args).args(["--session", "s"]);
        let output = command.stdin(Stdio::null()).output().unwrap();
        let printed = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into();
        assert!(!output.status.success(), "{point}, {args:?}: {printed}");
        printed
    }
}

const POINTS: &[&str] = &["commit.rename", "commit.compare", "commit.sync_directory"];
const PATCH: &str =
    r#"{"patch":"LP1\nF a\nR\n1\n.\n2\n.\nF d/b\nR\n1\n.\n2\n.\nF n/c\nT\nnew\n.\nEND\n"}"#;
const PATCHES: &[&str] = &["call", "apply_patch", "--yes", PATCH];

/// Two files that were read, and a change before.
fn world() -> World {
    let world = World::new();
    world.shell("mkdir d; echo 1 > a; echo 1 > d/b");
    world.exec().send(&write_file("first", "first\n"));
    for path in ["a", "d/b"] {
        world.says(0, &["call", "read_file", &format!(r#"{{"path":"{path}"}}"#)]);
    }
    world
}

/// FR-TOOL-PATCH-01a, NFR-REL-04: the log does not claim it, and undo takes back what was before it.
#[test]
fn a_failed_change_is_not_there_to_be_taken_back() {
    for point in POINTS {
        let world = world();
        let before = world.tree();
        world.refused_at(point, PATCHES);
        crate::same(&before, &world.tree()).unwrap();
        let log = world.says(0, &["log"]);
        assert_eq!(log.matches("changed:").count(), 0, "{point}: {log}");
        assert_eq!(log.matches("created:").count(), 1, "{point}: {log}");
        let printed = world.says(0, &["undo"]);
        assert!(printed.contains("removed: first"), "{point}: {printed}");
        world.holds(&[("first", GONE), ("a", "1\n"), ("d/b", "1\n"), ("n/c", GONE)]);
        world.says(2, &["undo"]);
    }
}

/// It can be tried again at once: nothing waits for recovery, and nothing counts as taken back.
#[test]
fn a_failed_undo_can_be_tried_again() {
    for point in POINTS {
        let world = world();
        world.says(0, PATCHES);
        let patched = world.tree();
        let printed = world.refused_at(point, &["undo"]);
        assert!(printed.contains("operation not permitted"), "{point}: {printed}");
        crate::same(&patched, &world.tree()).unwrap();
        let log = world.says(0, &["log"]);
        assert!(!log.contains("undid:"), "{point}: {log}");
        world.says(2, &["redo"]);
        world.says(0, &["undo"]);
        world.holds(&[("a", "1\n"), ("d/b", "1\n"), ("n/c", GONE), ("first", "first\n")]);
        world.refused_at(point, &["redo"]);
        world.holds(&[("a", "1\n"), ("d/b", "1\n"), ("n/c", GONE)]);
        world.says(0, &["redo"]);
        crate::same(&patched, &world.tree()).unwrap();
        world.says(0, &["verify"]);
    }
}

/// Undos that were done are said, also when the next one fails.
#[test]
fn of_several_undos_those_that_were_done_are_told() {
    let world = world();
    world.says(0, PATCHES);
    world.exec().send(&write_file("last", "last\n"));
    let printed = world.refused_at("commit.rename", &["undo", "3"]);
    assert!(printed.contains("Undone: s-5 Create last"), "{printed}");
    world.holds(&[("last", GONE), ("a", "2\n"), ("n/c", "new"), ("first", "first\n")]);
}
