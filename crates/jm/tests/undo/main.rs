//! Changes of calls can be taken back, and brought again: the real program on real trees.
//!
//! `JM_SEED=17` runs only that one of the random sequences.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

mod failed;
mod many;
mod old_journal;
mod random;
mod trades;
mod world;

use std::time::{Duration, Instant};

use serde_json::Value;

use world::{GONE, Tree, World, command, same, write_file};

/// One command, taken back, brought again, taken back again.
pub(crate) fn there_and_back(setup: &str, script: &str) -> Result<(), String> {
    let world = World::new();
    world.shell(setup);
    let before = world.tree();
    world.run(script);
    let after = world.tree();
    let says = |what: &str, tree: &Tree| {
        let (_, printed) = world.jm(&[what]);
        let is = same(tree, &world.tree());
        is.map_err(|why| format!("{setup:?}, then {script:?}, after {what}: {printed}{why}"))
    };
    says("undo", &before)?;
    says("redo", &after)?;
    says("undo", &before)
}

#[test]
fn each_kind_of_change_goes_there_and_back() {
    let cases = [
        ("true", "mkdir d"),
        ("true", "mkdir -m 700 d; echo x > d/f"),
        ("mkdir d", "rmdir d"),
        ("mkdir -p d/e; chmod 700 d; echo x > d/e/f", "rm -r d"),
        ("mkdir -p d/e; chmod 711 d/e; echo x > d/e/f", "mv d g"),
        ("mkdir d; echo x > d/f", "chmod 700 d"),
        ("mkdir d; echo x > d/f", "chmod 700 d; echo y > d/f"),
        ("echo x > a; chmod 600 a", "chmod 4755 a"),
        ("echo x > a; chmod 444 a", "rm -f a"),
        ("echo x > a", "mv a A"),
        ("echo x > a; echo y > b", "mv a t; mv b a; mv t b"),
        ("true", ": > empty; : > .hidden; : > 'a name'; : > \"two\nlines\""),
        ("head -c 1100000 /dev/zero > large", "printf y >> large"),
        ("echo b > b; ln -s b a", "rm b; echo c > c"),
    ];
    let failed: Vec<String> =
        cases.iter().filter_map(|(setup, script)| there_and_back(setup, script).err()).collect();
    assert!(failed.is_empty(), "{} failed:\n{}", failed.len(), failed.join("\n"));
}

#[test]
fn a_file_changed_by_hand_is_shown_and_left_alone_until_forced() {
    let world = World::new();
    world.write("a", "1\n");
    world.run("echo 2 > a; echo 2 > b");
    world.write("a", "by hand\n");
    let printed = world.says(1, &["undo"]);
    assert!(printed.contains("left alone: a: changed since"), "{printed}");
    world.holds(&[("a", "by hand\n"), ("b", GONE)]);
    // What was left alone is still there to be taken back, as the hint says.
    world.says(0, &["undo", "--force"]);
    world.holds(&[("a", "1\n")]);
    world.says(0, &["redo"]);
    world.holds(&[("a", "by hand\n")]);
}

/// Files that are as they shall be already are neither written again nor said to be restored.
#[test]
fn only_what_had_to_be_changed_is_told() {
    let world = World::new();
    world.write("a", "1\n");
    world.write("b", "1\n");
    world.run("echo 2 > a; echo 2 > b; echo 2 > c");
    world.write("b", "by hand\n");
    world.says(1, &["undo"]);
    world.write("b", "2\n");
    let restored = "restored: b\n";
    let printed = world.says(0, &["undo"]);
    assert_eq!(printed, format!("Undone: s-1 {SUMMARY}\n{restored}{NOT_COVERED}"));
    world.holds(&[("a", "1\n"), ("b", "1\n"), ("c", GONE)]);
    // Each undo has its redo, which brings again what that one took.
    assert_eq!(world.says(0, &["redo"]), format!("Redone: s-1 {SUMMARY}\n{restored}"));
    world.holds(&[("a", "1\n"), ("b", "2\n"), ("c", GONE)]);
    world.says(0, &["redo"]);
    world.holds(&[("a", "2\n"), ("b", "2\n"), ("c", "2\n")]);
}

const NOT_COVERED: &str =
    "not covered: effects outside the workspace, in ignored files, .git, the network\n";
const SUMMARY: &str = "Run command: echo 2 > a; echo 2 > b; echo 2 > c";

#[test]
fn one_call_from_the_middle_is_taken_back_alone() {
    let world = World::new();
    for script in ["echo 1 > a; echo 1 > both", "echo 2 > b", "echo 3 > c; echo 3 > both"] {
        world.run(script);
    }
    world.says(0, &["undo", "--call", "s-2"]);
    world.holds(&[("a", "1\n"), ("b", GONE), ("c", "3\n")]);
    let printed = world.says(1, &["undo", "--call", "s-1"]);
    assert!(printed.contains("both: changed since"), "{printed}");
    world.holds(&[("a", GONE), ("both", "3\n")]);
    // Already taken back.
    world.says(2, &["undo", "--call", "s-2"]);
}

#[test]
fn everything_from_a_call_on_is_taken_back_in_one_step() {
    let world = World::new();
    world.run("echo 1 > a; mkdir -p d/e");
    let kept = world.tree();
    for script in ["echo 2 > a; echo 2 > b", "rm -r d", "echo 3 > a; mv b c", "echo 4 > f"] {
        world.run(script);
    }
    let last = world.tree();
    world.says(0, &["undo", "--to", "s-2"]);
    same(&kept, &world.tree()).unwrap();
    world.says(0, &["redo"]);
    same(&last, &world.tree()).unwrap();
    world.says(0, &["undo", "--to", "s-1"]);
    assert!(world.tree().is_empty());
}

#[test]
fn an_undo_is_undone_and_that_too() {
    let world = World::new();
    world.exec().send(&write_file("new/deep/a", "1\n"));
    let made = world.tree();
    for _ in 0..3 {
        world.says(0, &["undo"]);
        assert!(world.tree().is_empty());
        world.says(2, &["undo"]);
        world.says(0, &["redo"]);
        same(&made, &world.tree()).unwrap();
        world.says(2, &["redo"]);
    }
    let printed = world.says(0, &["verify"]);
    assert!(printed.contains("Journal OK"), "{printed}");
}

#[test]
fn git_is_never_touched() {
    let world = World::new();
    world.shell("mkdir -p .git/hooks sub; echo config > .git/config; echo gitdir > sub/.git");
    world.run("echo changed | tee .git/config sub/.git; echo new > .git/new; echo x > a");
    world.exec().send(&write_file(".git/hooks/made", "x"));
    let printed = world.says(1, &["undo"]);
    assert!(printed.contains(".git/hooks/made: it belongs to git"), "{printed}");
    world.says(0, &["undo", "--call", "s-1"]);
    world.holds(&[("a", GONE), (".git/hooks/made", "x"), (".git/new", "new\n")]);
    world.holds(&[(".git/config", "changed\n"), ("sub/.git", "changed\n")]);
}

#[test]
fn ignored_files_are_not_tracked() {
    let world = World::new();
    world.write(".gitignore", "*.log\n/target\n");
    world.write("build.log", "old\n");
    world.run("echo new > build.log; mkdir target; echo x > target/x; echo x > a");
    world.says(0, &["undo"]);
    world.holds(&[("a", GONE), ("build.log", "new\n"), ("target/x", "x\n")]);
}

/// Two sessions in one workspace: a command that runs long is not held responsible for what the other
/// one does meanwhile, and taking it back spares that.
#[test]
fn what_another_session_changes_meanwhile_is_not_the_commands() {
    let world = World::new();
    world.write("edited", "1\n");
    world.write("both", "1\n");
    let mut exec = world.exec();
    exec.start(&command("echo 2 > both; echo x > mine; while [ ! -e done ]; do sleep .01; done"));
    let deadline = Instant::now() + Duration::from_secs(60);
    while !world.workspace.join("mine").exists() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    let other = |args: &[&str]| {
        let mut jm = world.command(env!("CARGO_BIN_EXE_jm"));
        let output = jm.args(args).args(["--yes", "--session", "other"]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    other(&["call", "write_file", r#"{"path":"new/deep/file","content":"theirs\n"}"#]);
    for file in ["edited", "both"] {
        other(&["call", "read_file", &format!(r#"{{"path":"{file}"}}"#)]);
        let patch = format!(r#"{{"patch":"LP1\nF {file}\nT\ntheirs\n.\nEND\n"}}"#);
        other(&["call", "apply_patch", &patch]);
    }
    world.write("done", "");
    assert_eq!(exec.answer()["verdict"], "ran");
    drop(exec);
    let printed = world.says(1, &["undo"]);
    assert!(printed.contains("both: changed since"), "{printed}");
    world.holds(&[("edited", "1\ntheirs\n"), ("both", "2\ntheirs\n"), ("mine", GONE)]);
    world.holds(&[("new/deep/file", "theirs\n")]);
}

/// Somebody works in their home: what the journal does meanwhile is no change of the command's.
#[test]
fn our_own_state_is_not_tracked() {
    let world = World::new();
    let flags = ["--yes", "--allow", "run_command", "--session", "s"];
    let state = world.workspace.join(".local/state/journeyman");
    let jm = |args: &[&str]| {
        let mut command = world.command(env!("CARGO_BIN_EXE_jm"));
        let output = command.env("JM_STATE_DIR", &state).args(args).output().unwrap();
        let printed =
            String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(output.status.success(), "{args:?}: {printed}");
        printed
    };
    for number in 1..=2 {
        let args = format!(r#"{{"command":"echo {number} > a"}}"#);
        jm(&[&["call", "run_command", &args], &flags[..]].concat());
    }
    let log = jm(&["log", "s"]);
    assert!(!log.contains("journal.db"), "{log}");
    let printed = jm(&["undo"]);
    assert_eq!(printed.matches("restored: ").count(), 1, "{printed}");
    world.holds(&[("a", "1\n")]);
}

/// A file does not come or go because a rule does.
#[test]
fn a_rule_that_a_command_changes_costs_no_file() {
    for (rule, script) in [
        ("*.log\n", "rm .gitignore"),
        ("*.log\n", ": > .gitignore"),
        ("", "echo '*.log' > .gitignore"),
    ] {
        let world = World::new();
        world.write(".gitignore", rule);
        world.write("build.log", "precious\n");
        world.run(script);
        world.says(0, &["undo"]);
        world.holds(&[("build.log", "precious\n"), (".gitignore", rule)]);
    }
}

/// 257 MiB of nothing, before or behind the other files.
#[test]
fn beyond_the_budget_it_is_not_tracked_and_nothing_is_lost() {
    for large in ["a-large", "z-large"] {
        for script in ["truncate -s +1 ?-large", "rm ?-large", "rm ?-large; echo x > z"] {
            let world = World::new();
            world.shell(&format!("truncate -s 257M {large}; echo b > b; echo c > c; echo d > d"));
            world.run(script);
            let case = format!("{large}, {script}");
            let log = world.says(0, &["log"]);
            assert!(log.contains("not tracked"), "{case}: {log}");
            let printed = world.says(0, &["undo"]);
            assert!(printed.contains("not tracked"), "{case}: {printed}");
            world.holds(&[("b", "b\n"), ("c", "c\n"), ("d", "d\n")]);
        }
    }
}

/// FR-RES-04: every call keeps its claim to a result.
#[test]
fn a_crash_is_settled_before_anything_is_undone() {
    let world = World::new();
    let mut exec = world.exec();
    exec.send(&write_file("a", "1\n"));
    assert_eq!(exec.send(&command("kill -9 $(ps -o ppid= -p $PPID); sleep 9")), Value::Null);
    drop(exec);
    world.jm(&["undo"]);
    world.says(0, &["recover", "--on-recovery", "keep"]);
    let log = world.says(0, &["log", "--json"]);
    for line in log.lines() {
        let call: Value = serde_json::from_str(line).unwrap();
        assert!(!call["result"].is_null(), "no result: {call}");
    }
}
