//! Each answer to a question, given at the screen by its key.

use crate::desk::{Desk, Kind};

const SCRIPT: &str = r##"
[[turn]]
steps = [{ call = "write_file", args = { path = "one.txt", content = "first\n" } }]
[[turn]]
steps = [{ call = "write_file", args = { path = "two.txt", content = "second\n" } }]
[[turn]]
expect = { results_contain = ["use another name"] }
steps = [{ call = "write_file", args = { path = "three.txt", content = "third\n" } }]
[[turn]]
expect = { results_contain = ["Created four.txt"] }
steps = [
  { call = "write_file", args = { path = "five.txt", content = "5\n" } },
  { call = "write_file", args = { path = "six.txt", content = "6\n" } },
  { call = "write_file", args = { path = "seven.txt", content = "7\n" } },
]
[[turn]]
expect = { results_contain = ["not that one"] }
steps = [{ text = "All is answered." }]
"##;

/// FR-APR-03, FR-TUI-01: `?`, `d`, `y`, `n` with a reason, `e`, and some of several.
#[test]
fn each_answer_has_its_key() {
    let desk = Desk::new(Kind::Tmux, (100, 30));
    desk.line("export EDITOR='sed -i s/three/four/'");
    desk.start(SCRIPT, "");
    desk.line("go");
    desk.wait_for("Create one.txt");
    desk.answer("?");
    desk.wait_for("n denies all, with a reason");
    desk.answer("d");
    desk.wait_until("the full screen", |_| desk.fact("#{alternate_on}") == "1");
    assert!(desk.visible().contains("first"), "{}", desk.visible());
    desk.key("Escape");
    desk.wait_until("the conversation", |_| desk.fact("#{alternate_on}") == "0");
    desk.answer("y");
    desk.wait_for("Create two.txt");
    desk.answer("n");
    desk.wait_for("Reason (Enter sends");
    desk.line("use another name");
    desk.wait_for("Create three.txt");
    desk.answer("e");
    desk.wait_for("Create four.txt");
    desk.answer("y");
    desk.wait_for("Run 3 of 3?");
    desk.answer("2");
    desk.wait_for("Run 2 of 3?");
    desk.answer("y");
    desk.wait_for("Reason for those left out");
    desk.line("not that one");
    desk.wait_for("All is answered.");
    let written = ["one", "two", "three", "four", "five", "six", "seven"];
    let written = written.map(|name| desk.path(&format!("{name}.txt")).exists());
    assert_eq!(written, [true, false, false, true, true, false, true]);
    desk.key("C-d");
    desk.wait_for("continue with");
    desk.assert_sane();
}

const COMMANDS: &str = r##"
[[turn]]
steps = [{ call = "run_command", args = { command = "mkdir made" } }]
[[turn]]
steps = [{ call = "run_command", args = { command = "ls" } }]
[[turn]]
steps = [{ call = "run_command", args = { command = "deploy --password hunter2" } }]
[[turn]]
steps = [{ text = "All is answered." }]
"##;

/// NFR-SEC-06, FR-APR-06: the first command turns commands on with one key; a masked credential is shown with another.
#[test]
fn commands_are_turned_on_and_secrets_shown_by_their_keys() {
    let desk = Desk::new(Kind::Tmux, (100, 30));
    desk.start(COMMANDS, "");
    desk.line("go");
    let asked = desk.wait_for("p turn commands on for this project");
    assert!(asked.contains("commands are not turned on in this project yet"), "{asked}");
    desk.answer("p");
    // What only reads is not asked about.
    let asked = desk.wait_for("‹7 characters›");
    assert!(!asked.contains("hunter2"), "{asked}");
    assert!(desk.path("made").exists());
    desk.answer("s");
    desk.wait_for("deploy --password hunter2");
    desk.answer("n");
    desk.wait_for("Reason (Enter sends");
    desk.key("Enter");
    desk.wait_for("All is answered.");
    desk.key("C-d");
    desk.wait_for("continue with");
    desk.assert_sane();
}
