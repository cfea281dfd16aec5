//! Each write in turn finds the disk full, by order of the test: shown on every machine, also where
//! no small disk can be mounted.

use std::process::Command;

use crate::check;
use crate::closed::ended;
use crate::matrix::{assert_nothing, in_parallel, passed};
use crate::scarce::{OPERATIONS, Operation, Scene, Where, afterwards};

/// Runs the operation with the disk full from some write on, and looks at what is left.
fn fail_at(operation: &Operation, scene: &Scene, command: Command, what: &str) -> Vec<String> {
    let outcome = ended(command);
    let meanwhile = check::without_temporaries(scene.machine.tree());
    let wrong = afterwards(operation, scene, &meanwhile, &outcome);
    wrong.into_iter().map(|wrong| format!("{}, {what}: {wrong}", operation.name)).collect()
}

/// FR-TOOL-PATCH-01a, NFR-REL-04: no room for the new content of the first file, the second, …
#[test]
fn every_write_of_a_file_fails_in_turn() {
    let wrong = in_parallel(OPERATIONS, |operation| {
        let scene = Scene::new(operation, Where::Neither);
        scene.rewind(Where::Neither);
        let passed = passed(&scene.machine, (operation.run)(&scene.machine));
        let mut wrong = Vec::new();
        let mut count = 0;
        for place in ["commit.create", "commit.write"] {
            for nth in 1..=passed.get(place).copied().unwrap_or(0) {
                scene.rewind(Where::Neither);
                let what = format!("{place}:{nth}");
                let mut command = (operation.run)(&scene.machine);
                command.env("JM_FULL", &what);
                wrong.extend(fail_at(operation, &scene, command, &what));
                count += 1;
            }
        }
        println!("{}: {count} writes of files failed", operation.name);
        wrong
    });
    assert_nothing(&wrong);
}

/// The same command, with everything that SQLite writes refused from the `nth` time on.
fn starved(scene: &Scene, operation: &Operation, nth: usize) -> Command {
    let asked = (operation.run)(&scene.machine);
    let mut strace = Command::new("strace");
    let inject = format!("inject=pwrite64:error=ENOSPC:when={nth}+");
    strace.args(["-qq", "-f", "-e", "trace=pwrite64", "-e", &inject, "-o", "/dev/null"]);
    strace.arg(asked.get_program()).args(asked.get_args());
    scene.machine.dress(&mut strace);
    strace
}

/// NFR-REL-04: the journal's first write fails, or its second, …; and all that come after.
#[test]
fn every_write_of_the_journal_fails_in_turn() {
    if !jm_testing::has("strace") {
        return;
    }
    let wrong = in_parallel(OPERATIONS, |operation| {
        let scene = Scene::new(operation, Where::Neither);
        let mut wrong = Vec::new();
        // Dense where the first record is, and then past the end of the last.
        for nth in (1..6).chain((6..100).step_by(5)) {
            scene.rewind(Where::Neither);
            let what = format!("write {nth} of the journal");
            wrong.extend(fail_at(operation, &scene, starved(&scene, operation, nth), &what));
        }
        wrong
    });
    assert_nothing(&wrong);
}
