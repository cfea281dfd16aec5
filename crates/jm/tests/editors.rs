//! The plugins in real editors, against the real program and a scripted model.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

use std::path::Path;
use std::process::Command;

/// FL-PHASE, FL-STATUS, FL-EXEC, FL-PREVIEW and FL-CHAT in Neovim: `editors/nvim/tests/run.lua` has the cases.
#[test]
fn the_plugin_works_in_neovim() {
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let tests = checkout.join("editors/nvim/tests");
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

/// The same in Emacs: `editors/emacs/test` has the cases. The mode compiles without a warning.
#[test]
fn the_mode_works_in_emacs() {
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let emacs = |words: &[&str]| {
        let output = Command::new("emacs")
            .args(["-Q", "--batch", "-L", "editors/emacs"])
            .args(words)
            .env("JM", env!("CARGO_BIN_EXE_jm"))
            .current_dir(&checkout)
            .output()
            .expect("Emacs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        said
    };
    let tests = "editors/emacs/test/journeyman-chat-test.el";
    let said = emacs(&["-l", tests, "-f", "ert-run-tests-batch-and-exit"]);
    assert!(said.contains(" 0 unexpected"), "{said}");
    emacs(&[
        "--eval",
        "(progn (require 'bytecomp) (setq byte-compile-error-on-warn t \
         byte-compile-dest-file-function (lambda (_) (make-temp-file \"jm\"))) \
         (unless (byte-compile-file \"editors/emacs/journeyman-chat.el\") (kill-emacs 1)))",
    ]);
}
