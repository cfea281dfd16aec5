//! The connection breaks after each event of an answer, on every wire.

use std::process::Stdio;

use serde_json::Value;

use crate::desk::{DONE, Desk, Ran, in_parallel, on_every_wire};

/// An answer with text and two calls; whatever happens to it, the next ones only speak.
fn turns(fault: &str) -> String {
    format!(
        r#"
[[turn]]
steps = [
  {{ text = "I write both of the files." }},
  {{ call = "write_file", args = {{ path = "one", content = "1" }} }},
  {{ call = "write_file", args = {{ path = "two", content = "2" }} }},
]
fault = {{ {fault} }}
{DONE}{DONE}"#
    )
}

/// How many calls had come whole, going by the vendor's own word for it.
fn whole_calls(wire: &str, events: &[Value]) -> usize {
    let stops = |event: &&Value| event["type"] == "content_block_stop" && event["index"] != 0;
    let done = |event: &&Value| {
        event["type"] == "response.output_item.done" && event["item"]["type"] == "function_call"
    };
    let ends = |event: &&Value| event["choices"][0]["finish_reason"] == "tool_calls";
    let call = |event: &&Value| {
        event["candidates"][0]["content"]["parts"][0].get("functionCall").is_some()
    };
    match wire {
        "anthropic" => events.iter().filter(stops).count(),
        "openai-responses" => events.iter().filter(done).count(),
        "openai-chat" => 2 * events.iter().filter(ends).count(),
        _ => events.iter().filter(call).count(),
    }
}

/// True if the person has seen anything of the answer, so that it is not asked for again.
fn was_shown(ran: &Ran) -> bool {
    !ran.err.contains("retrying")
}

fn cut_once(wire: &'static str, place: usize) {
    let desk = Desk::new(wire);
    let ran = desk.run(&turns(&format!("cut_after = {place}")), &[]);
    let whole = whole_calls(wire, &ran.events(0));
    let written = [desk.has("one"), desk.has("two")];
    assert_eq!(written, [whole > 0, whole > 1], "{wire}, cut after {place}: {ran:?}");
    // Asked again because nothing was shown, or gone on with what was whole; else it failed.
    let goes_on = !was_shown(&ran) || whole > 0;
    assert_eq!(ran.code, i32::from(!goes_on), "{wire}, cut after {place}: {ran:?}");
    let results = desk.calls().iter().filter(|call| call["result"]["error"].is_null()).count();
    assert_eq!(results, whole, "{wire}, cut after {place}");
    desk.resume(&[]);
    desk.verify();
}

/// NFR-REL-01, FR-RES-04a: what came whole is answered, what did not never runs, and the
/// conversation goes on.
#[test]
fn cut_after_every_event() {
    on_every_wire(|wire| {
        let whole = Desk::new(wire).run(&turns(""), &[]);
        assert_eq!((whole.code, whole.out.as_str()), (0, "I write both of the files.\nDone.\n"));
        let events = whole.events(0).len();
        assert!(events >= 5, "{wire} has {events} events");
        let places: Vec<usize> = (0..=events).collect();
        in_parallel(&places, |place| cut_once(wire, *place));
    });
}

/// FR-RES-04a, FR-RES-04c, IT-JRN-01: killed when the calls have come and the answer has not ended,
/// the journal has them, and knows that they never started.
#[test]
fn killed_before_the_end_of_an_answer() {
    on_every_wire(|wire| {
        let events = Desk::new(wire).run(&turns(""), &[]).events(0).len();
        let desk = Desk::new(wire);
        desk.run(DONE, &[]);
        let stalled = turns(&format!("stall_after = {}", events - 1));
        let run = ["run", "write", "--approve", "auto", "--session", "S"];
        let mut command = desk.scripted(&stalled, &run).command;
        let mut child = command.stdout(Stdio::null()).spawn().unwrap();
        while desk.calls().len() < 2 {
            assert!(child.try_wait().unwrap().is_none(), "{wire}: it ended by itself");
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(desk.jm(&run).output().unwrap().status.code() != Some(0));
        let facts = desk.ask(&["recover", "--on-recovery", "keep"]);
        assert_eq!(facts.matches("write_file: never started").count(), 2, "{wire}: {facts}");
        assert!(!desk.has("one") && !desk.has("two"), "{wire}");
        desk.resume(&[]);
        assert!(!desk.has("one") && !desk.has("two"), "{wire}");
        desk.verify();
    });
}
