//! Back ends that cannot be built are refused, or something weaker takes their place and says so.

use std::process::Command;

use serde_json::{Value, json};

use crate::jobs::desk::Desk;
use crate::world::{User, World, works};

/// This program in its own confinement, where no more namespaces can be made.
fn nested(world: &World, flags: &[&str], script: &str) -> String {
    let inner = world.at("w/inner");
    std::fs::copy(env!("CARGO_BIN_EXE_jm"), &inner).unwrap();
    let state = format!("JM_STATE_DIR={}", world.at("w/state").display());
    let home = format!("HOME={}", world.at("w").display());
    let (inner, script) = (inner.display().to_string(), format!("touch ran; {script}"));
    let mut words = vec!["env", &state, &home, &inner, "sandbox"];
    words.extend(flags);
    words.extend(["--", "sh", "-c", &script]);
    let output = world.confined(&words);
    [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text)).concat()
}

fn ran(world: &World) -> bool {
    world.at("w/ran").exists()
}

#[test]
fn what_was_asked_for_and_cannot_be_built_runs_nothing() {
    for backend in ["namespaces", "bwrap"].into_iter().filter(|one| works(User::Own, one)) {
        for wanted in ["namespaces", "bwrap"] {
            let world = World::new(User::Own, backend);
            let said = nested(&world, &["--backend", wanted], "true");
            assert!(said.contains("jm: it was not started: "), "{wanted} in {backend}: {said}");
            assert!(!ran(&world), "{wanted} in {backend}: {said}");
        }
    }
}

#[test]
fn something_weaker_says_what_it_leaves_open() {
    if !works(User::Own, "namespaces") || !works(User::Own, "landlock") {
        return;
    }
    let world = World::new(User::Own, "namespaces");
    let said = nested(&world, &[], "echo x > /usr/planted");
    assert!(said.contains("jm: not confined: landlock cannot keep .git/hooks"), "{said}");
    assert!(said.contains("the sandbox does not allow commands to write /usr/planted"), "{said}");
    assert!(ran(&world), "{said}");
    // Where nothing works, that is said too, and a tool's command needs a person for it.
    let world = World::new(User::Own, "landlock");
    let said = nested(&world, &[], "true");
    assert!(said.contains("the command is not confined: it has all your rights"), "{said}");
    assert!(ran(&world), "{said}");
}

#[test]
fn a_program_that_is_missing_is_missed() {
    if !jm_testing::has("superuser") || !works(User::Own, "bwrap") {
        return;
    }
    let world = World::new(User::Own, "bwrap");
    let bwrap = Command::new("sh").args(["-c", "command -v bwrap"]).output().unwrap();
    let bwrap = String::from_utf8(bwrap.stdout).unwrap();
    let script =
        "mount --bind /dev/null \"$BWRAP\" && exec \"$JM\" sandbox --backend bwrap -- touch ran";
    let mut jm = world.command("unshare");
    jm.args(["-m", "sh", "-c", script]).env("BWRAP", bwrap.trim());
    let output = jm.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("jm: it was not started: bwrap"), "{output:?}");
    assert!(!ran(&world), "{output:?}");
}

/// Confinement is built by name; the name may be another directory's by now.
#[test]
fn a_workspace_that_was_replaced_runs_nothing() {
    let world = World::new(User::Own, "auto");
    let mut desk = Desk::open(&world, "s");
    let mut run = |args: &Value| desk.call("run_command", args);
    let touch = json!({"command": "touch ran"});
    assert_eq!(run(&json!({"command": "true"}))["verdict"], "ran");
    std::fs::rename(world.at("w"), world.at("old")).unwrap();
    for replaced in [false, true] {
        if replaced {
            std::fs::create_dir(world.at("w")).unwrap();
        }
        let answer = run(&touch);
        let expected = "was moved, removed or replaced since the workspace was opened";
        assert!(answer["content"].as_str().unwrap().contains(expected), "{answer}");
        assert!(!ran(&world) && !world.at("old/ran").exists(), "{answer}");
    }
    std::fs::remove_dir(world.at("w")).unwrap();
    std::fs::rename(world.at("old"), world.at("w")).unwrap();
    assert_eq!(run(&touch)["verdict"], "ran");
    assert!(ran(&world));
    desk.close();
}
