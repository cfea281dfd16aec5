//! The pictures of README.md, docs/tui.md and docs/editors/ are what the program and the editors show.

use std::process::Command;

#[test]
fn the_pictures_of_the_documents_are_true() {
    compare(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/screens/make"));
}

#[test]
fn the_pictures_of_the_editors_are_true() {
    compare(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/screens/editors"));
}

fn compare(script: &str) {
    let mut command = Command::new(script);
    let output = command.arg("--check").env("JM", env!("CARGO_BIN_EXE_jm")).output().unwrap();
    let told =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(output.status.success(), "{}", told.concat());
}
