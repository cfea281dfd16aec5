//! The status line: what runs in the background.

use crate::desk::{Desk, Kind};

const PROCESS: &str = r##"
[[turn]]
steps = [{ call = "start_process", args = { command = "until test -e stop; do sleep 0.1; done", lifetime_seconds = 100 } }]
[[turn]]
steps = [{ text = "It runs." }]
"##;

/// Processes that run in the background stand in the status line while they run, and `/status` names them.
#[test]
fn processes_are_counted_while_they_run() {
    let desk = Desk::new(Kind::Tmux, (120, 30));
    desk.start(PROCESS, "--allow start_process --yes");
    desk.line("go");
    desk.wait_for("It runs.");
    desk.wait_for(" · 1 process");
    desk.line("/status");
    desk.wait_for("Processes  1 running");
    desk.wait_for("until test -e stop");
    std::fs::write(desk.path("stop"), "").unwrap();
    desk.wait_until("the end of it", |all| !all.contains(" · 1 process"));
    desk.line("/status");
    desk.wait_for("Processes  none");
    desk.key("C-d");
    desk.wait_for("continue with");
}
