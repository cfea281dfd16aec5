//! A whole session: prompt, streaming, approval of some, output scrolled, stop, steering, rewind,
//! quit, resume.

use crate::desk::{Desk, Kind, assert_each_once};

const SCRIPT: &str = r##"
[[turn]]
expect.user_contains = ["fix it"]
steps = [
  { thinking = "I look first." },
  { text = "# Plan\n\nTwo files:\n\n" },
  { call = "write_file", args = { path = "one.txt", content = "first\n" } },
  { call = "write_file", args = { path = "two.txt", content = "second\n" } },
]
[[turn]]
expect.results_contain = ["not the second"]
steps = [{ text = "Only one, then.\n\n- kept one\n- left two\n" }]
[[turn]]
expect.user_contains = ["run it"]
steps = [{ call = "run_command", args = { command = "seq 1 200; sleep 600; make" } }]
[[turn]]
expect.user_contains = ["say something long"]
steps = [{ text = "It begins" }, { delay_ms = 600000 }, { text = "and never ends" }]
[[turn]]
expect.user_contains = ["rather this"]
steps = [{ text = "Steered to this." }]
"##;

fn whole_session(kind: Kind) {
    let desk = Desk::new(kind, (80, 24));
    desk.start(SCRIPT, "--allow run_command");
    desk.line("fix it");
    desk.wait_for("Run 2 of 2?");
    std::thread::sleep(std::time::Duration::from_millis(600));
    desk.letters("2");
    desk.wait_for("Run 1 of 2?");
    desk.letters("y");
    desk.wait_for("Reason for those left out");
    desk.line("not the second");
    desk.wait_for("left two");
    assert!(desk.path("one.txt").exists() && !desk.path("two.txt").exists());

    desk.line("run it");
    desk.wait_for("Run it?");
    std::thread::sleep(std::time::Duration::from_millis(600));
    desk.letters("y");
    desk.wait_for("  200");
    desk.key("PPage");
    desk.wait_for("scrolled (End follows)");
    desk.wait_until("an earlier line", |all| !all.contains("\n  200\n") && all.contains("  190"));
    desk.key("End");
    desk.wait_for("  200");
    desk.key("Escape");
    desk.wait_for("Interrupted");

    desk.line("say something long");
    desk.wait_for("It begins");
    desk.line("rather this");
    desk.wait_for("queued: rather this");
    desk.key("Enter");
    desk.wait_for("Steered to this.");
    desk.rest();

    desk.key("Escape");
    desk.wait_for("Esc again");
    desk.key("Escape");
    desk.wait_for("Go back to before a prompt");
    for _ in 0..3 {
        desk.key("Down");
    }
    desk.key("Enter");
    desk.wait_for("b both");
    desk.wait_for("one.txt");
    desk.answer("b");
    desk.wait_for("Undone:");
    assert!(!desk.path("one.txt").exists(), "rewinding undoes");
    desk.wait_for("Rewound to before prompt 1");
    desk.wait_until("the prompt again", |all| all.matches("> fix it").count() == 2);
    desk.key("C-c");
    desk.key("C-d");
    let all = desk.wait_until("the shell", |all| all.trim_end().ends_with("ready>"));
    let once = [
        "Plan",
        "Two files:",
        "Only one, then.",
        "• kept one",
        "• left two",
        "Steered to this.",
        "⊘ write_file two.txt · denied by the user: not the second",
    ];
    assert_each_once(&all, once.iter().map(|line| desk.written(line)));
    for gone in ["⠋", "Esc stops", "approve prompt", "queued:", "Enter chooses", "Esc again"] {
        assert!(!all.contains(gone), "{gone:?} is left in the scrollback:\n{all}");
    }
    // The conversation that was left is whole, and is resumed by the name that the hint gave.
    let id = all.split("/resume ").nth(1).and_then(|rest| rest.split_whitespace().next()).unwrap();
    let again = "[[turn]]\nsteps = [{ text = \"Back again.\" }]\n";
    std::fs::write(desk.path("again.toml"), again).unwrap();
    desk.start_with("", &format!("resume {id} --model script:again.toml"), "Resumed:");
    desk.line("go on");
    desk.wait_for("Back again.");
    desk.key("C-d");
    desk.wait_for("continue with: jm resume");
    desk.assert_sane();
}

#[test]
fn a_whole_session_in_tmux() {
    whole_session(Kind::Tmux);
}

#[test]
fn a_whole_session_in_gnu_screen() {
    whole_session(Kind::Screen);
}
