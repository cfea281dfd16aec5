//! The documents say what the program says.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn jm(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_jm")).args(args).output().unwrap()
}

/// CFG-TOOLS-01 and all other keys.
#[test]
fn the_configuration_reference_is_the_programs_own() {
    let document = std::fs::read_to_string(repository().join("docs/formats/config.md")).unwrap();
    let reference = String::from_utf8(jm(&["config", "--reference"]).stdout).unwrap();
    assert!(
        document.ends_with(&reference),
        "docs/formats/config.md ends with what `jm config --reference` prints:\n{reference}"
    );
}

/// NFR-MAIN-03
#[test]
fn the_reference_of_tools_is_the_programs_own() {
    let document = std::fs::read_to_string(repository().join("docs/tools.md")).unwrap();
    let reference = String::from_utf8(jm(&["tools", "--reference"]).stdout).unwrap();
    assert!(reference.contains("### `edit_file`"), "{reference}");
    assert!(
        document.ends_with(&reference),
        "docs/tools.md ends with what `jm tools --reference` prints"
    );
}

#[test]
fn the_tour_runs_and_its_escapes_are_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let tour = std::fs::File::open(repository().join("examples/tour.md")).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_jm"))
        .args(["exec", "--approve", "auto", "--root"])
        .arg(scratch.path())
        .env("JM_STATE_DIR", scratch.path().join("state"))
        .stdin(tour)
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{printed}");
    assert_eq!(printed.matches("\"ok\":true").count(), 5, "{printed}");
    assert_eq!(printed.matches("path_outside_sandbox").count(), 2, "{printed}");
    assert_eq!(printed.matches("denylisted").count(), 1, "{printed}");
    assert!(!printed.contains("root:"), "{printed}");
}

#[test]
fn the_readme_names_the_two_commands_and_ci_runs_the_second() {
    let readme = std::fs::read_to_string(repository().join("README.md")).unwrap();
    assert!(readme.contains("cargo run -p jm -- demo"));
    assert!(readme.contains("\n./test\n"));
    let ci = std::fs::read_to_string(repository().join(".ci/run")).unwrap();
    assert!(ci.contains("./test"));
}

#[test]
fn every_record_of_a_decision_is_in_the_index() {
    let folder = repository().join("docs/adr");
    let index = std::fs::read_to_string(folder.join("README.md")).unwrap();
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().to_string_lossy().into_owned();
        assert!(name == "README.md" || index.contains(&name), "{name} is not in the index");
    }
}
