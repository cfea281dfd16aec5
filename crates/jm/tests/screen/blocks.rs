//! `jm run` and `jm repl` in a terminal: the blocks of the screen, without a screen.

use crate::desk::{Desk, Kind, assert_each_once};

const SCRIPT: &str = r##"
[[turn]]
steps = [
  { text = "# Plan\n\nI *look* first.\n\n" },
  { call = "read_file", args = { path = "notes.txt" } },
  { call = "edit_file", args = { path = "notes.txt", old_string = "one", new_string = "two" } },
  { call = "run_command", args = { command = "seq 1 40" } },
]
[[turn]]
steps = [{ text = "| a | b |\n|---|---|\n| 1 | 2 |\n\nAll done.\n" }]
"##;

fn desk() -> Desk {
    let desk = Desk::new(Kind::Tmux, (80, 24));
    std::fs::write(desk.path("notes.txt"), "one\n").unwrap();
    std::fs::write(desk.path("s.toml"), SCRIPT).unwrap();
    desk
}

const ARGS: &str = "--model script:s.toml --allow run_command --approve auto --yes";

fn assert_blocks(all: &str) {
    let once = [
        "Plan",
        "I look first.",
        "· $ seq 1 40",
        "✓ read_file notes.txt · 4 B",
        "✓ edit_file notes.txt · +1 −1",
        "  1 - one",
        "  1 + two",
        "a │ b",
        "1 │ 2",
        "All done.",
    ];
    assert_each_once(all, once.iter().map(|line| (*line).to_owned()));
    assert!(all.contains("✓ $ seq 1 40 · "), "{all}");
    assert!(all.contains("… 32 more lines (jm output "), "folded, with the remedy:\n{all}");
    assert!(!all.contains("→ read_file") && !all.contains("\n  20\n"), "{all}");
}

#[test]
fn a_run_in_a_terminal_is_drawn_in_blocks() {
    let desk = desk();
    let bytes = desk.record();
    desk.start_with("", &format!("run 'do it' {ARGS}"), "All done.");
    desk.wait_until("the shell", |all| all.trim_end().ends_with("ready>"));
    assert_blocks(&desk.all());
    let bytes = std::fs::read(bytes).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    assert!(text.contains("\x1b[32m"), "in colour");
    assert!(!text.contains("\x1b[?2026h"), "nothing is drawn over");
    desk.assert_sane();
}

#[test]
fn a_run_for_a_program_is_as_ever() {
    let desk = desk();
    desk.start_with("", &format!("run 'do it' {ARGS} > out.txt 2> err.txt; echo en''ded"), "ended");
    let out = std::fs::read_to_string(desk.path("out.txt")).unwrap();
    let expected = "# Plan\n\nI *look* first.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nAll done.\n";
    assert_eq!(out, expected);
    let err = std::fs::read_to_string(desk.path("err.txt")).unwrap();
    assert!(err.contains("→ read_file\n"), "{err}");
}

#[test]
fn a_repl_in_a_terminal_is_drawn_in_blocks() {
    let desk = desk();
    desk.start_with("", &format!("repl {ARGS}"), "; /help");
    desk.line("do it");
    desk.wait_for("All done.");
    assert_blocks(&desk.all());
    // What is typed before the prompt is there is nobody's.
    desk.wait_until("the next prompt", |all| all.trim_end().ends_with("\n>"));
    desk.key("C-d");
    desk.wait_until("the shell", |all| all.trim_end().ends_with("ready>"));
    desk.assert_sane();
}

/// GO-TERM: the document of `gemini` prescribes a prefix and `→ name`.
#[test]
fn the_lines_of_gemini_stay() {
    let desk = desk();
    let script = "[[turn]]\nsteps = [{ text = \"# Plan\" }, { call = \"read_file\", args = { path = \
                  \"notes.txt\" } }]\n[[turn]]\nsteps = [{ text = \"All done.\" }]\n";
    std::fs::write(desk.path("s.toml"), script).unwrap();
    desk.start_with("", "repl --toolset gemini --model script:s.toml", "; /help");
    desk.line("do it");
    let all = desk.wait_for("All done.");
    assert!(all.contains("Gemini: # Plan") && all.contains("→ read_file"), "{all}");
}
