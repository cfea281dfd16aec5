//! Going back to an earlier prompt: files, conversation, or both.

use crate::desk::{Desk, Kind, assert_each_once};

const SCRIPT: &str = r##"
[[turn]]
steps = [{ call = "write_file", args = { path = "one.txt", content = "first\n" } }]
[[turn]]
steps = [{ text = "First done." }]
[[turn]]
steps = [{ call = "write_file", args = { path = "two.txt", content = "second\n" } }]
[[turn]]
steps = [{ text = "Second done." }]
"##;

fn two_prompts() -> Desk {
    let desk = Desk::new(Kind::Tmux, (80, 24));
    desk.start(SCRIPT, "--approve auto");
    desk.line("do first");
    desk.wait_for("First done.");
    desk.line("do second");
    desk.wait_for("Second done.");
    desk.rest();
    desk.key("Escape");
    desk.wait_for("Esc again");
    desk.key("Escape");
    desk.wait_for("Go back to before a prompt");
    desk.key("Enter");
    desk.wait_for("f files only");
    desk
}

#[test]
fn the_conversation_alone_goes_back() {
    let desk = two_prompts();
    desk.answer("c");
    desk.wait_for("Rewound to before prompt 2");
    desk.wait_for("> do second\nanthropic");
    assert!(desk.path("two.txt").exists(), "files stay");
    desk.key("C-c");
    desk.line("/status");
    // The prompt, the call, its result, the answer, and that files were left; nothing of the second prompt.
    desk.wait_for("Messages   5");
    desk.key("C-d");
    let all = desk.wait_for("continue with");
    let once = ["First done.", "Second done.", "> do first"];
    assert_each_once(&all, once.iter().map(|line| (*line).to_owned()));
    desk.assert_sane();
}

#[test]
fn the_files_alone_go_back() {
    let desk = two_prompts();
    desk.answer("f");
    desk.wait_for("Undone:");
    assert!(desk.path("one.txt").exists() && !desk.path("two.txt").exists());
    desk.wait_for("> do second\nanthropic");
    desk.key("C-c");
    desk.line("/status");
    desk.wait_for("Messages   8");
}

#[test]
fn neither_goes_back() {
    let desk = two_prompts();
    desk.answer("q");
    desk.line("/status");
    desk.wait_for("Messages   8");
    assert!(desk.path("two.txt").exists());
}
