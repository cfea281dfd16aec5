//! The prompt in a real terminal: commands of the person's own, pictures, modes, completion.

use crate::desk::{Desk, Kind};

/// A picture of one pixel.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0";

#[test]
fn a_typed_command_runs_at_once_and_the_model_hears_of_it() {
    let desk = Desk::new(Kind::Tmux, (80, 24));
    let script = "[[turn]]\nexpect.user_contains = [\"$ echo from-the-person\", \"what was it\"]\n\
                  steps = [{ text = \"I know.\" }]\n";
    desk.start(script, "--allow run_command");
    desk.line("!echo from-the-person");
    let all = desk.wait_for("✓ $ echo from-the-person");
    assert!(!all.contains("Run it?"), "who types a command has decided:\n{all}");
    desk.line("what was it?");
    desk.wait_for("I know.");
    desk.key("C-d");
    let all = desk.wait_for("continue with");
    assert_eq!(all.lines().filter(|line| *line == "  from-the-person").count(), 1, "{all}");
}

/// A rule that denies a command denies it to the person too, and says so.
#[test]
fn a_typed_command_that_is_denied_does_not_run() {
    let desk = Desk::new(Kind::Tmux, (80, 24));
    desk.start(
        "[[turn]]\nsteps = [{ text = \"Hi.\" }]\n",
        "--allow run_command --deny 'run_command: touch *'",
    );
    desk.line("!touch made");
    desk.wait_for("⊘ $ touch made");
    assert!(!desk.path("made").exists());
}

#[test]
fn pictures_are_sent_with_the_prompt() {
    let desk = Desk::new(Kind::Tmux, (80, 24));
    std::fs::write(desk.path("shot.png"), PNG).unwrap();
    let outside = desk.path("").join("../home/my shot.png");
    std::fs::write(&outside, PNG).unwrap();
    desk.start("[[turn]]\nsteps = [{ text = \"Two pictures.\" }]\n", "");
    desk.paste(&format!("'{}'", outside.display()));
    desk.wait_for("[picture 1: my shot.png]");
    desk.letters("and @shot.png");
    desk.key("Escape");
    desk.wait_for("and @shot.png");
    desk.key("Enter");
    desk.wait_for("Two pictures.");
    desk.wait_for("· Attached shot.png (29 B)");
    desk.key("C-d");
    desk.wait_for("continue with");
    desk.start_with("", "export | grep -c 'image/png.*image/png'; echo en''ded", "ended");
    let all = desk.all();
    assert!(all.trim_start().starts_with("1\nended"), "both are in one message:\n{all}");
}

/// Without a desktop the person is told what to do instead; nothing is sent.
#[test]
fn a_clipboard_that_cannot_be_read_is_told() {
    let desk = Desk::new(Kind::Tmux, (80, 24));
    desk.start("[[turn]]\nsteps = [{ text = \"Hi.\" }]\n", "");
    desk.key("C-v");
    desk.wait_for("Cannot read the clipboard");
    desk.wait_for("hint: name a file with @");
}

/// The mode changes at once, also while a turn runs, and nothing is printed twice for it.
#[test]
fn the_approval_mode_changes_while_a_turn_runs() {
    let desk = Desk::new(Kind::Tmux, (80, 24));
    let script = r#"
[[turn]]
steps = [{ text = "It begins.\n\n" }, { delay_ms = 3000 }, { call = "write_file", args = { path = "a.txt", content = "x" } }]
[[turn]]
steps = [{ text = "Written." }]
"#;
    desk.start(script, "");
    desk.line("go");
    desk.wait_for("It begins.");
    desk.key("BTab");
    desk.wait_for("approve auto");
    let all = desk.wait_for("Written.");
    assert!(!all.contains("Run it?"), "{all}");
    assert!(desk.path("a.txt").exists());
    desk.key("C-d");
    let all = desk.wait_for("continue with");
    assert_eq!(all.matches("It begins.").count(), 1, "{all}");
}
