//! Parse-only mode: calls that wait for results from outside, in this process or another.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::desk::{DONE, Desk, Ran, SESSION, lines, on_every_wire, results_of};

const PARSE_ONLY: &str = "[tools]\nmode = \"parse_only\"\n";

const ASKS: &str = r#"
[[turn]]
steps = [
  { text = "I look." },
  { call = "write_file", id = "one", args = { path = "made", content = "" } },
  { call = "read_file", id = "two", args = { path = "made" } },
]
"#;

fn supply(desk: &Desk, turns: &str, more: &[&str]) -> Ran {
    desk.scripted(turns, &[&["run", "--resume", SESSION], more].concat()).end()
}

fn errors(desk: &Desk) -> Vec<Value> {
    desk.calls().iter().map(|call| call["result"]["error"].clone()).collect()
}

/// FR-MODE-02, FR-TUI-04, FR-RES-04b: the calls are shown with name, id and arguments, wait across
/// processes, take their results one by one, and with the last one the model goes on.
#[test]
fn results_are_supplied_by_later_processes() {
    on_every_wire(|wire| {
        let desk = Desk::new(wire).with_config(PARSE_ONLY);
        let asked = desk.run(ASKS, &[]);
        assert_eq!(asked.code, 3, "{wire}: {asked:?}");
        for shown in
            ["write_file waits", "--result one=TEXT", "--result two=TEXT", r#"{"path":"made"}"#]
        {
            assert!(asked.err.contains(shown), "{wire}: {shown}: {asked:?}");
        }
        let again = supply(&desk, DONE, &[]);
        assert_eq!((again.code, again.requests.len()), (3, 0), "{wire}: {again:?}");
        assert!(again.err.contains("--result two=TEXT"), "{wire}: {again:?}");

        let wrong = supply(&desk, DONE, &["--result", "two=by hand", "--result", "three=x"]);
        assert_eq!(wrong.code, 2, "{wire}: {wrong:?}");
        assert!(wrong.err.contains("waiting for a result: one, two"), "{wire}: {wrong:?}");

        let second = supply(&desk, DONE, &["--result", "two=by hand, second"]);
        assert_eq!((second.code, second.requests.len()), (3, 0), "{wire}: {second:?}");
        assert!(!second.err.contains("--result two=TEXT"), "{wire}: {second:?}");
        let turns = "[[turn]]\nexpect = { results_contain = [\"by hand, first\", \"by hand, second\"] }\n\
                     steps = [{ text = \"Thank you.\" }]\n";
        let first = supply(&desk, turns, &["--result", "one=by hand, first"]);
        assert_eq!((first.code, first.out.as_str()), (0, "Thank you.\n"), "{wire}: {first:?}");
        assert_eq!(results_of(&first.history(0)), ["by hand, first", "by hand, second"], "{wire}");
        assert_eq!(errors(&desk), [Value::Null, Value::Null], "{wire}");
        assert!(!desk.has("made"), "{wire}");
        desk.resume(&[]);
        desk.verify();
    });
}

/// FR-MODE-02: programs read what waits from the last event and answer with a file, or through
/// standard input.
#[test]
fn a_program_supplies_results_in_json() {
    on_every_wire(|wire| {
        let desk = Desk::new(wire).with_config(PARSE_ONLY);
        let asked = desk.run(ASKS, &["--json"]);
        let end = lines(&asked.out, |line| line["type"] == "end").remove(0);
        assert_eq!((asked.code, &end["reason"]), (3, &json!("needs_results")), "{wire}: {asked:?}");
        let arguments = r#"{"path":"made"}"#;
        let call = json!({"call": "S-2", "id": "two", "name": "read_file", "arguments": arguments});
        assert_eq!(end["waiting"][1], call, "{wire}: {end}");
        let turns = "[[turn]]\nexpect = { results_contain = [\"1\", \"2\"] }\n\
                     steps = [{ text = \"Thank you.\" }]\n";
        let args = ["run", "--resume", SESSION, "--json", "--results", "-"];
        let mut scripted = desk.scripted(turns, &args);
        let command = scripted.command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let given = "{\"two\": \"2\"}\n{\"one\": \"1\"}\n";
        child.stdin.take().unwrap().write_all(given.as_bytes()).unwrap();
        let ran = scripted.ran(&child.wait_with_output().unwrap());
        let end = lines(&ran.out, |line| line["type"] == "end").remove(0);
        assert_eq!((ran.code, &end["waiting"]), (0, &json!([])), "{wire}: {ran:?}");
        assert_eq!(results_of(&ran.history(0)), ["1", "2"], "{wire}");
    });
}

/// FR-MODE-02: whoever says something else instead leaves calls that were not run, and a loop that is
/// left leaves them waiting.
#[test]
fn a_loop_that_ends_leaves_its_calls_waiting() {
    on_every_wire(|wire| {
        let desk = Desk::new(wire).with_config(PARSE_ONLY);
        let mut scripted = desk.scripted(ASKS, &["repl", "--session", SESSION]);
        let command = scripted.command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(b"do it\n/tool one by hand\n").unwrap();
        let left = scripted.ran(&child.wait_with_output().unwrap());
        assert_eq!(left.code, 0, "{wire}: {left:?}");

        let resumed = desk.scripted(DONE, &["resume", SESSION]).end();
        assert!(resumed.err.contains("read_file waits for its result: /tool two RESULT"));
        assert!(!resumed.err.contains("/tool one RESULT"), "{wire}: {resumed:?}");
        assert!(desk.ask(&["recover"]).contains("Nothing to recover"), "{wire}: it is no crash");
        let refused = desk.jm(&["--session", SESSION, "call", "read_file", "{}"]).output().unwrap();
        assert!(!refused.status.success(), "{wire}: the session's batch is open");

        let ran = desk.resume(&[]);
        let told = results_of(&ran.history(0));
        assert_eq!(told[0], "by hand", "{wire}: {told:?}");
        assert!(told[1].contains("parse_only"), "{wire}: {told:?}");
        assert_eq!(errors(&desk), [Value::Null, json!("parse_only")], "{wire}");
        desk.verify();
    });
}

/// FR-MODE-02: a crash while calls wait loses neither them nor the results that were given.
#[test]
fn a_loop_that_is_killed_leaves_its_calls_waiting() {
    on_every_wire(|wire| {
        let desk = Desk::new(wire).with_config(PARSE_ONLY);
        let mut scripted = desk.scripted(ASKS, &["repl", "--session", SESSION]);
        let command = scripted.command.stdin(Stdio::piped()).stdout(Stdio::null());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        // That a wrong id is refused shows that the right one before it was taken.
        input.write_all(b"do it\n/tool one by hand, first\n/tool nobody x\n").unwrap();
        let mut told = BufReader::new(child.stderr.take().unwrap()).lines();
        assert!(told.any(|line| line.unwrap().contains("no call with id nobody")), "{wire}");
        child.kill().unwrap();
        child.wait().unwrap();
        let turns = "[[turn]]\nexpect = { results_contain = [\"by hand, first\", \"by hand, second\"] }\n\
                     steps = [{ text = \"Thank you.\" }]\n";
        let ran = supply(&desk, turns, &["--result", "two=by hand, second"]);
        assert_eq!((ran.code, ran.out.as_str()), (0, "Thank you.\n"), "{wire}: {ran:?}");
        desk.verify();
    });
}

/// FR-LIM-01, FR-LIM-02, FR-LIM-03, FR-RES-03, FR-VAL-02a, FR-APR-04b, FR-OUT-04: limits and policy hold
/// for calls that are not run here, and for their results.
#[test]
fn limits_and_policy_hold_for_calls_that_wait() {
    on_every_wire(|wire| {
        let config = "[tools]\nmode = \"parse_only\"\nmax_tool_calls_per_batch = 4\n\
                      max_tool_iterations_per_user_turn = 1\nmax_tool_args_bytes = 20\n\
                      [tools.output]\nmax_bytes = 100\n";
        let desk = Desk::new(wire).with_config(config);
        let turns = r#"
[[turn]]
steps = [
  { call = "read_file", id = "A", args = { path = "f" } },
  { call = "read_file", id = "A", args = { path = "f" } },
  { call = "run_command", id = "C", args = { command = "true" } },
  { call = "read_file", id = "D", args = { path = "longer than 20 bytes" } },
  { call = "read_file", id = "E", args = { path = "f" } },
]
"#;
        // A repeated id goes back to vendors as another one, so the second has its own result.
        let asked = desk.run(turns, &[]);
        assert_eq!(asked.code, 3, "{wire}: {asked:?}");
        let waiting = asked.err.matches(" waits for its result").count();
        assert_eq!(waiting, 1, "{wire}: {asked:?}");
        let more =
            "[[turn]]\nsteps = [{ call = \"read_file\", id = \"F\", args = { path = \"f\" } }]\n";
        let long = format!("A={}", "0".repeat(300));
        let told = supply(&desk, &format!("{more}{DONE}"), &["--result", &long]);
        assert_eq!((told.code, told.out.as_str()), (0, "Done.\n"), "{wire}: {told:?}");
        let expected = json!([
            null,
            "duplicate_tool_call_id",
            "denylisted",
            "limits_exceeded",
            "limits_exceeded",
            "limits_exceeded"
        ]);
        assert_eq!(json!(errors(&desk)), expected, "{wire}");
        let contents = desk.contents();
        assert_eq!(contents[0].len(), 100, "{wire}");
        assert!(contents[0].ends_with("... [output truncated]"), "{wire}: {}", contents[0]);
        assert_eq!(desk.ask(&["output", "S-1"]), "0".repeat(300), "{wire}");
        assert!(contents[5].contains("Max tool iterations reached"), "{wire}: {contents:?}");
        desk.verify();
    });
}

/// FR-APR-04a: without approval everything is pre-resolved, so nothing waits.
#[test]
fn nothing_waits_where_approval_is_off() {
    let desk = Desk::new("anthropic")
        .with_config(&format!("{PARSE_ONLY}[tools.approval]\nenabled = false\n"));
    let ran = desk.run(&format!("{ASKS}{DONE}"), &[]);
    assert_eq!((ran.code, ran.requests.len()), (0, 2), "{ran:?}");
    for result in results_of(&ran.history(1)) {
        assert_eq!(result, "Tool execution disabled by policy");
    }
}
