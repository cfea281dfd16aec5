//! A path that was a file and became a directory with files in it, and the other way round.

use crate::there_and_back;
use crate::world::{World, same};

const CASES: &[(&str, &str)] = &[
    ("echo x > a", "rm a; mkdir a"),
    ("mkdir a", "rmdir a; echo y > a"),
    ("echo x > a; chmod 600 a", "rm a; mkdir -m 700 a; echo 1 > a/b; mkdir a/c; echo 2 > a/c/d"),
    (
        "mkdir -p a/b/c; echo 1 > a/b/c/d; chmod 755 a/b/c/d; chmod 500 a/b/c",
        "chmod -R u+w a; rm -r a; echo x > a",
    ),
    ("mkdir a; chmod 2750 a; echo 1 > a/x", "rm -r a; echo x > a; chmod 4755 a"),
    ("mkdir a; echo 1 > a/b; echo 2 > c", "rm a/b; mkdir a/b; mv c a/b/c; echo 3 > new"),
    ("mkdir -p d/a; echo 1 > d/a/x; echo 2 > e", "rm -r d; mv e d; mkdir e; echo 4 > e/d"),
    ("printf 1 > a; mkdir b; printf 2 > b/x", "mv a t; mv b a; mv t b"),
    ("mkdir a; : > a/empty; mkdir a/hollow", "rm -r a; : > a"),
    ("mkdir a; echo 1 > \"a/two\nlines\"", "rm -r a; echo x > a"),
];

#[test]
fn a_file_and_a_directory_that_changed_places_change_back() {
    let failed: Vec<String> =
        CASES.iter().filter_map(|(setup, script)| there_and_back(setup, script).err()).collect();
    assert!(failed.is_empty(), "{} failed:\n{}", failed.len(), failed.join("\n"));
}

/// Several calls taken back at once: only the two ends count.
#[test]
fn what_it_was_in_between_does_not_matter() {
    let world = World::new();
    world.shell("echo x > a; mkdir b; echo y > b/c");
    let before = world.tree();
    for script in ["rm a; mkdir a; echo 1 > a/f", "rm -r a; echo 2 > a", "rm -r b; echo 3 > b"] {
        world.run(script);
    }
    let after = world.tree();
    world.says(0, &["undo", "--to", "s-1"]);
    same(&before, &world.tree()).unwrap();
    world.says(0, &["redo"]);
    same(&after, &world.tree()).unwrap();
    world.says(0, &["undo"]);
    world.says(0, &["undo"]);
    world.holds(&[("a/f", "1\n"), ("b/c", "y\n")]);
    world.says(0, &["undo"]);
    same(&before, &world.tree()).unwrap();
    world.says(0, &["verify"]);
}

/// Changes that somebody made there since are theirs: nothing of the trade is undone, all else is.
#[test]
fn a_directory_that_changed_since_is_left_alone() {
    let changes = [
        "echo mine > a/new",
        "echo mine > a/b",
        "rm a/b",
        "mkdir a/mine",
        "ln -s b a/link",
        "mkdir a/.git",
        "echo key > a/.env",
    ];
    for change in changes {
        let world = World::new();
        world.shell("echo x > a; echo 1 > other");
        world.run("rm a; mkdir a; echo 1 > a/b; echo 2 > other");
        world.shell(change);
        let changed = world.tree();
        let said = world.says(1, &["undo"]);
        assert!(said.contains("left alone: "), "{change}: {said}");
        world.holds(&[("other", "1\n")]);
        world.shell("echo 2 > other");
        same(&changed, &world.tree()).unwrap_or_else(|why| panic!("{change}: {why}"));
    }
}

/// With force it goes too, and comes back with `redo`; what could not come back still stays.
#[test]
fn force_takes_along_what_can_be_brought_back() {
    let world = World::new();
    world.shell("echo x > a");
    world.run("rm a; mkdir a; echo 1 > a/b");
    world.shell("echo mine > a/new; chmod 640 a/new; echo 2 > a/b");
    let forced = world.tree();
    world.says(0, &["undo", "--force"]);
    world.holds(&[("a", "x\n")]);
    world.says(0, &["redo"]);
    same(&forced, &world.tree()).unwrap();
    world.shell("ln -s b a/link");
    let linked = world.tree();
    world.says(1, &["undo", "--force"]);
    same(&linked, &world.tree()).unwrap();
}

#[test]
fn the_log_says_that_they_traded_places() {
    let world = World::new();
    world.shell("echo x > a; mkdir b");
    world.run("rm a; mkdir a; rmdir b; echo y > b");
    let log = world.says(0, &["log"]);
    assert!(log.contains("became a directory: ") && log.contains("became a file: "), "{log}");
}
