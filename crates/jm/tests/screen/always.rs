//! An answer "always" at the screen: the rule is shown, its scope is chosen, and the next call is not asked about.

use std::time::Duration;

use crate::desk::{Desk, Kind};

const SCRIPT: &str = r##"
[[turn]]
steps = [{ call = "write_file", args = { path = "one.txt", content = "first\n" } }]
[[turn]]
steps = [{ call = "write_file", args = { path = "two.txt", content = "second\n" } }]
[[turn]]
steps = [{ text = "Both are written." }]
"##;

#[test]
fn a_rule_is_stored_and_holds_at_once() {
    let desk = Desk::new(Kind::Tmux, (80, 24));
    desk.start(SCRIPT, "");
    desk.line("go");
    desk.wait_for("a always");
    // Keys that come with the question do not count.
    std::thread::sleep(Duration::from_millis(600));
    desk.letters("a");
    desk.wait_for("write_file: **");
    let asked = desk.wait_for("this project");
    assert!(!asked.contains("everywhere"), "{asked}");
    std::thread::sleep(Duration::from_millis(600));
    desk.letters("s");
    desk.wait_for("Both are written.");
    assert!(desk.path("one.txt").exists() && desk.path("two.txt").exists());
    desk.key("C-d");
    desk.wait_for("continue with");
    desk.assert_sane();
}
