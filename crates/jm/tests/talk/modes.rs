//! Tools that are off, and tools that somebody else runs.

use std::io::Write;
use std::process::Stdio;

use serde_json::Value;

use crate::desk::{DONE, Desk, Ran, SESSION, on_every_wire};

fn offered(ran: &Ran) -> usize {
    let tools = ran.requests[0].get("tools").and_then(Value::as_array);
    tools.map_or(0, Vec::len)
}

/// FR-MODE-01: nothing is offered, and what is called all the same is refused.
#[test]
fn disabled() {
    on_every_wire(|wire| {
        let desk = Desk::new(wire).with_config("[tools]\nmode = \"disabled\"\n");
        let turns = "[[turn]]\nexpect = { system_contains = [\"no tools\"] }\n\
                     steps = [{ call = \"write_file\", args = { path = \"made\", content = \"\" } }]\n\
                     [[turn]]\n\
                     expect = { results_contain = [\"Tool execution disabled by policy\"] }\n\
                     steps = [{ text = \"Then not.\" }]\n";
        let ran = desk.run(turns, &["--yes"]);
        assert_eq!((ran.code, ran.out.as_str()), (0, "Then not.\n"), "{wire}: {ran:?}");
        assert_eq!(offered(&ran), 0, "{wire}");
        assert!(!desk.has("made"), "{wire}");
        desk.resume(&[]);
    });
}

/// FR-MODE-03, GO-MULTI: tools are offered, run, and the model hears of it.
#[test]
fn enabled() {
    on_every_wire(|wire| {
        let desk = Desk::new(wire);
        let turns = format!(
            "[[turn]]\nsteps = [{{ call = \"write_file\", args = {{ path = \"made\", content = \"\" }} }}]\n{DONE}"
        );
        let ran = desk.run(&turns, &[]);
        assert_eq!((ran.code, ran.requests.len()), (0, 2), "{wire}: {ran:?}");
        assert!(offered(&ran) > 0 && desk.has("made"), "{wire}");
    });
}

const ASKS: &str = r#"
[[turn]]
steps = [
  { call = "write_file", id = "one", args = { path = "made", content = "" } },
  { call = "read_file", id = "two", args = { path = "made" } },
]
"#;

fn repl(desk: &Desk, turns: &str, input: &str) -> Ran {
    let mut scripted = desk.scripted(turns, &["repl", "--session", SESSION]);
    let command = scripted.command.stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    scripted.ran(&child.wait_with_output().unwrap())
}

/// FR-MODE-02, FR-RES-04b: tools are offered, calls are shown and not run, and a person's results
/// take their place, here and in the journal.
#[test]
fn parse_only() {
    on_every_wire(|wire| {
        let desk = Desk::new(wire).with_config("[tools]\nmode = \"parse_only\"\n");
        let turns = format!(
            "{ASKS}[[turn]]\nexpect = {{ results_contain = [\"by hand, first\", \"by hand, second\"] }}\n\
             steps = [{{ text = \"Thank you.\" }}]\n"
        );
        let input =
            "do it\n/tool three none\n/tool two by hand, second\n/tool one by hand, first\n";
        let ran = repl(&desk, &turns, input);
        assert_eq!((ran.code, ran.out.as_str()), (0, "jm: Thank you.\n"), "{wire}: {ran:?}");
        assert!(offered(&ran) > 0, "{wire}");
        for shown in ["write_file waits", "/tool one RESULT", "/tool two RESULT", "three"] {
            assert!(ran.err.contains(shown), "{wire}: {shown}: {ran:?}");
        }
        assert!(!desk.has("made"), "{wire}");
        let resumed = Value::from(desk.resume(&[]).history(0)).to_string();
        assert!(resumed.contains("by hand, first") && resumed.contains("by hand, second"));
        desk.verify();
    });
}

/// FR-MODE-02: a person who says something else instead, or ends, leaves calls that were not run.
#[test]
fn parse_only_and_nobody_answers() {
    on_every_wire(|wire| {
        let desk = Desk::new(wire).with_config("[tools]\nmode = \"parse_only\"\n");
        let turns = format!(
            "{ASKS}[[turn]]\nexpect = {{ results_contain = [\"by hand\", \"parse_only\"], \
             user_contains = [\"leave it\"] }}\nsteps = [{{ text = \"As you like.\" }}]\n{}",
            ASKS.replace("one", "three").replace("two", "four")
        );
        let ran = repl(&desk, &turns, "do it\n/tool one by hand\nleave it\nagain\n");
        assert_eq!((ran.code, ran.out.as_str()), (0, "jm: As you like.\n"), "{wire}: {ran:?}");
        desk.resume(&[]);
        assert_eq!(desk.run(ASKS, &[]).code, 3, "{wire}");
        desk.resume(&[]);
        let calls = desk.calls();
        assert_eq!(calls.len(), 6, "{wire}");
        assert!(calls.iter().all(|call| call["result"].is_object()), "{wire}: {calls:?}");
        assert!(!desk.has("made"), "{wire}");
        desk.verify();
    });
}
