//! One conversation in every vendor's language, and again from the journal.

use serde_json::{Value, json};

use crate::desk::{DONE, Desk, on_every_wire, results_of};

const TURNS: &str = r#"
[[turn]]
expect = { user_contains = ["please"], tools = ["read_file", "write_file"] }
steps = [
  { thinking = "Two things to look at." },
  { text = "I look at both." },
  { call = "read_file", args = { path = "greek" } },
  { call = "read_file", args = { path = "hebrew" } },
]
usage = { input = 100, output = 20, reasoning = 5 }

[[turn]]
expect = { results_contain = ["alpha\n", "aleph\n"] }
steps = [
  { thinking = "Now the rest." },
  { call = "read_file", args = { path = "missing" } },
  { call = "run_command", args = { command = "touch ran" } },
  { call = "write_file", args = { path = "made", content = "by the model\n" } },
]

[[turn]]
expect = { results_contain = ["no such file", "off in this project", "Created made"] }
steps = [{ thinking = "That is all." }, { text = "All " }, { text = "seen." }]
"#;

fn desk(wire: &'static str) -> Desk {
    Desk::new(wire).with_file("greek", "alpha\n").with_file("hebrew", "aleph\n")
}

/// FR-RES-01, FR-RES-02, GO-MULTI, IT-E2E-01: from the model's wish over the deed and the record to
/// its last word, and on from there in another process, with every item that is the vendor's own.
#[test]
fn a_conversation_goes_on_in_another_process() {
    on_every_wire(|wire| {
        let desk = desk(wire);
        let ran = desk.run(TURNS, &[]);
        assert_eq!((ran.code, ran.out.as_str()), (0, "I look at both.\nAll seen.\n"), "{ran:?}");
        assert_eq!(ran.requests.len(), 3, "one message carries all results of a batch");
        assert_eq!(desk.read("made"), "by the model\n");
        assert!(!desk.has("ran"), "what was denied did not run");

        let errors: Vec<Value> =
            desk.calls().iter().map(|call| call["result"]["error"].clone()).collect();
        assert_eq!(errors.len(), 5);
        let failed: Vec<bool> = errors.iter().map(|error| !error.is_null()).collect();
        assert_eq!(failed, [false, false, true, true, false], "{errors:?}");

        let resumed = desk.resume(&[]);
        let (before, after) = (ran.history(2), resumed.history(0));
        assert_eq!(after[..before.len()], before, "{wire}: what was said is said again unchanged");
        assert!(Value::from(after).to_string().contains("seen."));
        desk.verify();
    });
}

/// FR-RES-01a, GO-MULTI
#[test]
fn results_go_back_in_the_order_of_their_calls() {
    on_every_wire(|wire| {
        let ran = desk(wire).run(TURNS, &[]);
        assert_eq!(results_of(&ran.history(1)), ["alpha\n", "aleph\n"], "{wire}");
    });
}

/// GO-STREAM: a plain turn adds two messages to the history, one with a call four.
#[test]
fn history_grows_by_two_and_by_four() {
    on_every_wire(|wire| {
        let desk = desk(wire);
        let read = "[[turn]]\nsteps = [{ call = \"read_file\", args = { path = \"greek\" } }]\n";
        let lengths: Vec<usize> = [DONE.to_owned(), format!("{read}{DONE}"), DONE.to_owned()]
            .iter()
            .map(|turns| desk.run(turns, &[]).history(0).len())
            .collect();
        // What the person says last is in the request, and the answer to it is not.
        assert_eq!(lengths, [1, 3, 7], "{wire}");
    });
}

/// The same events for a program, one object a line.
#[test]
fn a_program_is_told_in_json() {
    on_every_wire(|wire| {
        let ran = desk(wire).run(TURNS, &["--json"]);
        let events: Vec<Value> =
            ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let kinds = |kind: &str| events.iter().filter(|event| event["type"] == kind).count();
        assert_eq!(
            [kinds("session"), kinds("call"), kinds("result"), kinds("usage"), kinds("end")],
            [1, 5, 5, 3, 1]
        );
        let thought: String = events
            .iter()
            .filter(|event| event["type"] == "thinking")
            .filter_map(|event| event["text"].as_str())
            .collect();
        assert_eq!(thought, "Two things to look at.Now the rest.That is all.", "{wire}");
        let end = events.last().unwrap();
        let told = json!([end["reason"], end["text"], end["exit"], end["usage"]["input"]]);
        assert_eq!(told, json!(["finished", "All seen.", 0, 100]), "{wire}");
    });
}
