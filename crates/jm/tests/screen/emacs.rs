//! A conversation in Emacs, in a real terminal, driven by keys.

use std::path::Path;

use crate::desk::{Desk, Kind};

const TURNS: &str = r#"[[turn]]
steps = [
  { text = "I change it." },
  { call = "edit_region", args = { path = "app.conf", start_line = 2, end_line = 2, new_content = "debug = yes" } },
  { call = "todo_write", args = { action = "create", title = "Restart it" } },
]
[[turn]]
expect = { results_contain = ["\"changed\":true"] }
steps = [{ text = "Changed." }]
[[turn]]
steps = [{ call = "run_shell", args = { cmd = ["sh", "-c", "touch made"] } }]
[[turn]]
expect = { results_contain = ["not that one"] }
steps = [{ text = "So be it." }]
[[turn]]
steps = [{ text = "Slowly" }, { delay_ms = 60000 }]
[[turn]]
steps = [{ call = "edit_region", args = { path = "app.conf", start_line = 1, end_line = 1, new_content = "port = 2" } }]
[[turn]]
expect = { results_contain = ["unsaved"] }
steps = [{ text = "I leave it to you." }]
"#;

/// FJ-UI, FJ-LOG, FJ-GATE: a prompt, an approval with its diff, a rejection with its reason, tasks, a key that
/// stops, a file that is edited meanwhile, a program that is killed.
#[test]
fn a_conversation_in_emacs_is_driven_by_keys() {
    let desk = Desk::new(Kind::Tmux, (100, 40));
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../editors/emacs");
    let setup = format!(
        "(add-to-list 'load-path {package:?})\n(require 'journeyman)\n\
         (setq journeyman-program '({program:?}) journeyman-arguments '(\"--toolset\" \"forj\")\n\
         journeyman-model (concat \"script:\" default-directory \"../home/s.toml\"))\n(menu-bar-mode -1)\n",
        program = env!("CARGO_BIN_EXE_jm"),
    );
    std::fs::write(desk.path("../home/init.el"), setup).unwrap();
    std::fs::write(desk.path("../home/s.toml"), TURNS).unwrap();
    std::fs::write(desk.path("app.conf"), "port = 1\ndebug = no\n").unwrap();
    desk.line("emacs -nw -Q -l ../home/init.el app.conf");
    desk.wait_for("debug = no");
    desk.key("M-x");
    desk.line("journeyman");
    desk.wait_for("*journeyman: work*");

    desk.letters("Switch debugging on.");
    desk.key("C-c");
    desk.key("C-c");
    let asked = desk.wait_for("-debug = no");
    assert!(asked.contains("+debug = yes") && asked.contains("y yes, n no"), "{asked}");
    desk.wait_for("[pending]");
    // What is typed goes into the next prompt, not into the answer.
    desk.letters("y");
    desk.wait_until("the letter in the prompt", |screen| screen.contains("> y"));
    desk.key("BSpace");
    desk.key("C-c");
    desk.key("C-a");
    desk.letters("y");
    let answered = desk.wait_for("Changed.");
    assert!(answered.contains("▸ Replace lines 2-2 of app.conf [done]"), "{answered}");
    desk.key("C-c");
    desk.key("C-t");
    desk.wait_for("[ ] Restart it");
    assert_eq!(std::fs::read_to_string(desk.path("app.conf")).unwrap(), "port = 1\ndebug = yes\n");

    desk.letters("Make a file.");
    desk.key("C-c");
    desk.key("C-c");
    desk.wait_for("Run sh -c 'touch made'");
    desk.wait_for("(C-c C-a to answer)");
    desk.key("C-c");
    desk.key("C-a");
    desk.letters("r");
    desk.wait_for("Reason:");
    desk.line("not that one");
    desk.wait_for("So be it.");
    assert!(!desk.path("made").exists());

    desk.letters("Talk.");
    desk.key("C-c");
    desk.key("C-c");
    desk.wait_for("Slowly");
    desk.key("C-c");
    desk.key("C-k");
    desk.wait_for("Stopped");

    desk.key("M-:");
    desk.line("(with-current-buffer \"app.conf\" (insert \"# mine\"))");
    desk.letters("Change the port.");
    desk.key("C-c");
    desk.key("C-c");
    desk.wait_for("I leave it to you.");
    assert_eq!(std::fs::read_to_string(desk.path("app.conf")).unwrap(), "port = 1\ndebug = yes\n");

    desk.key("M-:");
    desk.line("(signal-process (journeyman-acp-process journeyman--acp) 'KILL)");
    desk.wait_for("The program ended");
    std::fs::write(desk.path("../home/s.toml"), "[[turn]]\nsteps = [{ text = \"Here again.\" }]\n")
        .unwrap();
    desk.letters("Are you there?");
    desk.key("C-c");
    desk.key("C-c");
    desk.wait_for("Here again.");
    desk.key("M-:");
    desk.line("(kill-emacs)");
    desk.wait_for("ready>");
    desk.assert_sane();
}
