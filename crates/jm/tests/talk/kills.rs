//! `kill -9`, at whatever moment of a conversation.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::desk::{Desk, SESSION, WIRES, in_parallel};
use crate::interrupts::noise;

/// In each of so many sessions, two on each wire.
const KILLS: u64 = 13;
const STREAMS: u64 = 8;

/// Three things with an effect each, which leaves its own mark.
fn turns(number: u64) -> String {
    format!(
        r#"
[[turn]]
steps = [
  {{ text = "I begin." }},
  {{ call = "write_file", args = {{ path = "made-{number}", content = "made" }} }},
  {{ delay_ms = 5 }},
  {{ call = "run_command", args = {{ command = "echo {number}-a >> ran" }} }},
]
[[turn]]
steps = [{{ delay_ms = 5 }}, {{ call = "run_command", args = {{ command = "echo {number}-b >> ran" }} }}]
[[turn]]
steps = [{{ text = "Done." }}]
"#
    )
}

const RUN: &[&str] = &[
    "run",
    "please",
    "--approve",
    "auto",
    "--yes",
    "--allow",
    "run_command",
    "--on-recovery",
    "keep",
    "--session",
    SESSION,
];

/// True if it was killed before it had ended.
fn kill_once(desk: &Desk, number: u64, delay: Duration) -> bool {
    let mut scripted = desk.scripted(&turns(number), RUN);
    let command = scripted.command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    std::thread::sleep(delay);
    child.kill().unwrap();
    child.wait().unwrap().signal().is_some()
}

/// Each call has one result, and its effect is what the result says.
fn check(desk: &Desk, wire: &str) -> BTreeMap<String, usize> {
    let ran = desk.read("ran");
    let mut counts = BTreeMap::new();
    for call in desk.calls() {
        let records = call["records"].as_array().unwrap();
        let finished = records.iter().filter(|one| one["record"]["kind"] == "finished").count();
        assert_eq!(finished, 1, "{wire}: {call}");
        let arguments: Value = serde_json::from_str(call["arguments"].as_str().unwrap()).unwrap();
        let times = match (arguments["command"].as_str(), arguments["path"].as_str()) {
            (Some(command), _) => {
                let mark = command.split(' ').nth(1).unwrap();
                ran.lines().filter(|line| *line == mark).count()
            }
            (None, path) => usize::from(desk.has(path.unwrap())),
        };
        let error = call["result"]["error"].as_str().unwrap_or("none");
        let allowed = match error {
            "none" => 1..=1,
            "unknown_outcome" => 0..=1,
            _ => 0..=0,
        };
        assert!(allowed.contains(&times), "{wire}: had its effect {times} times: {call}");
        *counts.entry(error.to_owned()).or_insert(0) += 1;
    }
    counts
}

/// One session bears some of the kills.
fn kill_many(wire: &'static str, stream: u64) {
    let desk = Desk::new(wire);
    let began = Instant::now();
    let whole = desk.scripted(&turns(0), RUN).end();
    assert_eq!((whole.code, whole.out.as_str()), (0, "I begin.\nDone.\n"), "{whole:?}");
    let mut span = u64::try_from(began.elapsed().as_micros()).unwrap();
    let mut kills = 0;
    for number in 1.. {
        assert!(number < 5 * KILLS, "{wire}: only {kills} of {number} came in time");
        let delay = noise(number * STREAMS + stream, span);
        match kill_once(&desk, number, Duration::from_micros(delay)) {
            true => kills += 1,
            // The machine has become less busy since the span was measured.
            false => span = span * 3 / 4,
        }
        if kills == KILLS {
            break;
        }
        // Otherwise the next run to be killed is what goes on.
        if number % 4 == 0 {
            desk.resume(&["--on-recovery", "keep"]);
        }
    }
    desk.resume(&["--on-recovery", "keep"]);
    let counts = check(&desk, wire);
    println!("{wire}: {kills} kills in {span} µs each; results by error: {counts:?}");
    desk.verify();
}

/// NFR-REL-04, FR-RES-04c, FR-RES-05: nothing runs twice, and the conversation goes on.
#[test]
fn killed_at_random_moments() {
    let streams: Vec<u64> = (0..STREAMS).collect();
    in_parallel(&streams, |stream| {
        kill_many(WIRES[usize::try_from(*stream).unwrap() % WIRES.len()], *stream);
    });
}
