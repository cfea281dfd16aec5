//! The plugins in real editors, against the real program and a scripted model.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

use std::path::{Path, PathBuf};
use std::process::Command;

fn checkout() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// FL-PHASE, FL-STATUS, FL-EXEC, FL-PREVIEW and FL-CHAT in Neovim: `editors/nvim/tests/run.lua` has the cases.
#[test]
fn the_plugin_works_in_neovim() {
    let tests = checkout().join("editors/nvim/tests");
    let output = Command::new(tests.join("nvim"))
        .args(["--clean", "-l"])
        .arg(tests.join("run.lua"))
        .env("JM", env!("CARGO_BIN_EXE_jm"))
        .output()
        .expect("the script that finds Neovim");
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{complained}");
    assert!(said.contains(" passed, 0 failed"), "{said}\n{complained}");
}

/// Runs Emacs without any settings and gives what it says.
fn emacs(words: &[&str]) -> String {
    let output = Command::new("emacs")
        .args(["-Q", "--batch", "-L", "editors/emacs"])
        .args(words)
        .env("JM", env!("CARGO_BIN_EXE_jm"))
        .current_dir(checkout())
        .output()
        .expect("Emacs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    said
}

/// Runs a file of cases in `editors/emacs/test`.
fn run_cases(name: &str) {
    let file = format!("editors/emacs/test/{name}.el");
    let said = emacs(&["-l", &file, "-f", "ert-run-tests-batch-and-exit"]);
    assert!(said.contains(" 0 unexpected"), "{said}");
}

/// FL-PHASE, FL-STATUS, FL-EXEC, FL-PREVIEW and FL-CHAT
#[test]
fn documents_work_in_emacs() {
    run_cases("journeyman-chat-test");
}

/// FJ-UI, FJ-LOG, FJ-GATE, FJ-GIT
#[test]
fn conversations_work_in_emacs() {
    run_cases("journeyman-test");
}

/// FJ-PROTO-01, FJ-PROTO-02, FJ-GATE, and the tools by the names of the Forj document.
#[test]
fn tools_work_through_the_dispatcher_of_emacs() {
    run_cases("journeyman-tools-test");
}

/// The package compiles without a warning.
#[test]
fn the_emacs_package_compiles() {
    let compile = "(progn (require 'bytecomp) (setq byte-compile-error-on-warn t \
         byte-compile-dest-file-function (lambda (_) (make-temp-file \"jm\"))) \
         (dolist (file (directory-files \"editors/emacs\" t \"\\\\.el\\\\'\")) \
         (unless (byte-compile-file file) (kill-emacs 1))))";
    emacs(&["--eval", compile]);
}
