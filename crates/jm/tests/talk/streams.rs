//! `kill -9` while the model still speaks: what had come is part of the conversation.

use std::process::Stdio;

use serde_json::Value;

use crate::desk::{Desk, SESSION, on_every_wire, results_of};
use crate::terminal::read_until;

const CUT: &str = r#"
[[turn]]
steps = [
  { thinking = "Two files." },
  { text = "I do two." },
  { call = "write_file", args = { path = "made", content = "x" }, id = "a" },
  { text = "Then I look." },
  { call = "read_file", args = { path = "made" }, id = "b" },
  { text = "And more" },
  { delay_ms = 60000 },
]
"#;

/// The program, killed when it has shown the words behind both calls.
fn kill_in_the_stream(desk: &Desk, more: &[&str]) {
    let args = ["run", "please", "--approve", "auto", "--session", SESSION];
    let mut scripted = desk.scripted(CUT, &[&args, more].concat());
    let command = scripted.command.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    read_until(&mut child, "And more");
    child.kill().unwrap();
    child.wait().unwrap();
}

/// IT-JRN-01, FR-RES-04a, FR-RES-05: the batch that was received, with the words before its calls, is
/// what the model is told again, and each call has its one result. Chat Completions says where a call ends
/// only when the whole message does, so there nothing was received, and the prompt stands alone.
#[test]
fn what_came_before_a_crash_is_part_of_the_conversation() {
    on_every_wire(|wire| {
        for thinking in ["off", "high"] {
            let desk = Desk::new(wire);
            kill_in_the_stream(&desk, &["--thinking", thinking]);
            let resumed = desk.resume(&["--thinking", thinking, "--on-recovery", "keep"]);
            let history = resumed.history(0);
            match wire {
                "openai-chat" => assert_eq!(history.len(), 1, "{wire}: {history:?}"),
                _ => check_received(&desk, wire, &history),
            }
            assert!(!desk.has("made"), "{wire}: nothing of it ran");
            // And it stays so in the next process.
            let later = desk.resume(&["--thinking", thinking]).history(0);
            assert_eq!(later[..history.len() - 1], history[..history.len() - 1], "{wire}");
            desk.verify();
        }
    });
}

fn check_received(desk: &Desk, wire: &str, history: &[Value]) {
    let log = desk.ask(&["log", SESSION]);
    assert!(log.contains("I do two."), "{wire}: {log}");
    let said = Value::from(history.to_vec()).to_string();
    let order = ["please", "I do two.", "write_file", "Then I look.", "read_file", "go on now"];
    let places: Vec<usize> = order
        .map(|words| said.find(words).unwrap_or_else(|| panic!("{wire}: {words}: {said}")))
        .to_vec();
    assert!(places.is_sorted(), "{wire}: {said}");
    let results = results_of(history);
    assert_eq!(results.len(), 2, "{wire}: {said}");
    assert!(results.iter().all(|text| text.contains("not run")), "{wire}: {results:?}");
}
