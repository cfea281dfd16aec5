//! Attributes of directories that the command and another program change.

use super::*;

/// Mode and extended attributes of a directory, as `755 user.a="1"`.
fn worn(path: &Path) -> String {
    let output = Command::new("getfattr").args(["-hd", "-m", "user"]).arg(path).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let mode = format!("{:o}", path.metadata().unwrap().mode() & 0o7777);
    let lines = said.lines().filter(|line| line.starts_with("user.")).map(str::to_owned);
    std::iter::once(mode).chain(lines).collect::<Vec<_>>().join(" ")
}

/// Lets the clock of files move on.
fn wait() {
    std::thread::sleep(std::time::Duration::from_millis(20));
}

const CONFLICT: &str = "conflict";

/// Attributes that another program set while the command ran stay; if both set them it is a conflict.
#[test]
fn attributes_that_only_another_program_changed_stay() {
    let cases = [
        ("echo x > src/n", "true", "755"),
        ("echo x > src/n", "chmod 700 src", "700"),
        ("echo x >> src/b", "chmod 700 src", "700"),
        ("rm src/b", "setfattr -n user.mine -v 1 src", r#"755 user.mine="1""#),
        ("chmod 711 src", "true", "711"),
        ("chmod 711 src; echo x > src/n", "chmod 700 docs", "711"),
        ("chmod 711 src", "chmod 700 src", CONFLICT),
        ("setfattr -n user.its -v 1 src", "chmod 700 src", CONFLICT),
        ("chmod 711 src", "chmod 700 src; echo x > src/mine", CONFLICT),
        ("touch src/n; sleep 0.05", "echo x > src/mine", "755"),
    ];
    for (script, beneath, expected) in cases {
        let world = World::new();
        let layer = world.run(script);
        wait();
        shell(&world.workspace, beneath);
        let found = plan(&layer);
        if expected == CONFLICT {
            assert_eq!(found.conflicts.len(), 1, "{script} against {beneath}");
            continue;
        }
        assert_eq!(found.conflicts, [], "{script} against {beneath}");
        layer.keep(&found.steps, &mut NoKeepLog).unwrap();
        assert_eq!(worn(&world.workspace.join("src")), expected, "{script} against {beneath}");
    }
}

/// A change that was there when the command first touched the directory is one that it knew.
#[test]
fn attributes_from_before_the_copy_are_the_ones_from_before_the_command() {
    let world = World::new();
    let beneath = world.workspace.clone();
    let person = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(300));
        shell(&beneath, "chmod 700 src");
    });
    let layer = world.run("sleep 0.8; chmod 711 src; echo x > src/n");
    person.join().unwrap();
    let found = plan(&layer);
    assert_eq!(found.conflicts, []);
    layer.keep(&found.steps, &mut NoKeepLog).unwrap();
    assert_eq!(worn(&world.workspace.join("src")), "711");
}

/// A change between the plan and the step is not overwritten either.
#[test]
fn attributes_that_changed_after_the_plan_keep_nothing() {
    for (script, expected) in [("echo x > src/n", "700"), ("chmod 711 src", CONFLICT)] {
        let world = World::new();
        let layer = world.run(script);
        let found = plan(&layer);
        shell(&world.workspace, "chmod 700 src");
        let kept = layer.keep(&found.steps, &mut NoKeepLog);
        assert_eq!(kept.is_err(), expected == CONFLICT, "{script}: {kept:?}");
        assert_eq!(worn(&world.workspace.join("src")), "700", "{script}");
    }
}

/// Going back sets only what the command set, and what somebody set since is left alone.
#[test]
fn attributes_that_were_changed_since_stay() {
    let cases: &[(&str, &str, &[&str], &str)] = &[
        ("echo x > src/n", "chmod 700 src", &[], "700"),
        ("chmod 711 src", "true", &[], "755"),
        ("chmod 711 src", "chmod 700 src", &["src"], "700"),
        ("chmod 711 src", "setfattr -n user.mine -v 1 src", &[], r#"755 user.mine="1""#),
        (
            "setfattr -n user.its -v 1 src",
            "setfattr -n user.mine -v 2 src",
            &[],
            r#"755 user.mine="2""#,
        ),
        (
            "setfattr -n user.its -v 1 src",
            "setfattr -n user.its -v 2 src",
            &["src"],
            r#"755 user.its="2""#,
        ),
        ("chmod 711 src", "rm -r src; mkdir -m 750 src", &["src"], "750"),
        ("echo x > src/n", "rm -r src; mkdir -m 750 src", &[], "750"),
    ];
    for (script, since, left_alone, expected) in cases {
        let world = World::new();
        let layer = world.run(script);
        let steps = plan(&layer).steps;
        layer.keep(&steps, &mut NoKeepLog).unwrap();
        wait();
        shell(&world.workspace, since);
        let is_changed = |step: &&LayerStep| layer.is_changed_since(step, StepState::Done).unwrap();
        let changed: Vec<PathBuf> =
            steps.iter().filter(is_changed).map(|step| step.path.clone()).collect();
        assert_eq!(changed, left_alone.iter().map(PathBuf::from).collect::<Vec<_>>(), "{since}");
        let ours: Vec<_> =
            steps.iter().filter(|step| !changed.contains(&step.path)).cloned().collect();
        layer.converge(&ours, StepState::NotDone).unwrap();
        assert_eq!(worn(&world.workspace.join("src")), *expected, "{script}, then {since}");
    }
}

/// A person who insists gets the attributes from before, and has those of now again with the way forth.
#[test]
fn attributes_that_were_changed_since_go_where_a_person_insists() {
    let world = World::new();
    let layer = world.run("chmod 711 src");
    let steps = plan(&layer).steps;
    layer.keep(&steps, &mut NoKeepLog).unwrap();
    shell(&world.workspace, "chmod 700 src");
    let steps = layer.as_it_stands(&steps, StepState::Done, &|_| true).unwrap();
    for (side, expected) in [(StepState::NotDone, "755"), (StepState::Done, "700")] {
        layer.converge(&steps, side).unwrap();
        assert_eq!(worn(&world.workspace.join("src")), expected);
    }
}

/// A layer that is kept after another one of the same moment still knows what its command changed.
#[test]
fn a_layer_that_is_kept_before_does_not_change_whose_attributes_they_are() {
    let world = World::new();
    let first = world.run("echo x >> src/b");
    let home = world.home.join("second");
    std::fs::create_dir(&home).unwrap();
    let second = world.run_in(&home, "chmod 711 src; echo y > src/y; chmod 700 docs");
    second.remember_attributes().unwrap();
    first.keep(&plan(&first).steps, &mut NoKeepLog).unwrap();
    let found = plan(&second);
    assert_eq!(found.conflicts, []);
    second.keep(&found.steps, &mut NoKeepLog).unwrap();
    assert_eq!(worn(&world.workspace.join("src")), "711");
    assert_eq!(worn(&world.workspace.join("docs")), "700");
}
