//! Many files at once, with few descriptors: what is held open is directories, not files.

use std::fmt::Write as _;

use crate::world::{World, same};

/// `args` in a process that may open 128 files, and no more whatever it does.
fn frugal(world: &World, args: &str) {
    let script = format!("ulimit -n 128; exec '{}' {args} --session s", env!("CARGO_BIN_EXE_jm"));
    let output = world.command("/bin/sh").args(["-c", &script]).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "jm {args}: {told}{}",
        String::from_utf8_lossy(&output.stdout)
    );
}

/// FR-TOOL-PATCH-01a: a thousand new files, taken back and brought again.
#[test]
fn a_thousand_new_files_in_one_patch() {
    let world = World::new();
    world.shell("echo there > there");
    let before = world.tree();
    let mut patch = "LP1\n".to_owned();
    for number in 0..1000 {
        write!(patch, "F new/{}/f{number}\nT\nline {number}\n.\n", number % 20).unwrap();
    }
    patch.push_str("END\n");
    let arguments = serde_json::json!({"patch": patch}).to_string();
    world.write("../arguments", &arguments);
    frugal(&world, "call apply_patch --yes - < ../arguments");
    let after = world.tree();
    assert_eq!(after.len(), before.len() + 1000 + 20 + 1);
    frugal(&world, "undo");
    same(&before, &world.tree()).unwrap();
    frugal(&world, "redo");
    same(&after, &world.tree()).unwrap();
}

/// A command that rewrites a tree, taken back in one step.
#[test]
fn a_thousand_files_that_a_command_changed() {
    let world = World::new();
    let files =
        "for d in $(seq 40); do mkdir d$d; for f in $(seq 25); do echo $f > d$d/$f; done; done";
    world.shell(files);
    let before = world.tree();
    world.run("sed -i s/^/changed/ */*; rm -r d7");
    let after = world.tree();
    frugal(&world, "undo");
    same(&before, &world.tree()).unwrap();
    frugal(&world, "redo");
    same(&after, &world.tree()).unwrap();
}
