//! `kill -9`, at whatever moment of a document's cycle.
//!
//! Law: the document parses and goes on, no call has its effect twice, and a result says what became of it.

use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use jm_chat::{AnswerState, ChatDocument};
use serde_json::Value;

use crate::desk::{DONE, Desk};
use crate::interrupts::noise;

/// Kills in `./test`, and with `JM_LONG`.
const KILLS: (u64, u64) = (10, 100);

pub(crate) fn kills() -> u64 {
    if std::env::var_os("JM_LONG").is_some() { KILLS.1 } else { KILLS.0 }
}

/// Calls whose effects leave marks of their own.
pub(crate) fn turns(number: u64) -> String {
    format!(
        r#"
[[turn]]
steps = [
  {{ text = "I begin." }},
  {{ call = "write", id = "w", arguments = '{{"label":null,"path":"made-{number}","content":"made"}}' }},
  {{ call = "bash", id = "a", arguments = '{{"label":null,"command":"echo {number}-a >> ran","timeout":null}}' }},
]
[[turn]]
steps = [{{ call = "bash", id = "b", arguments = '{{"label":null,"command":"echo {number}-b >> ran","timeout":null}}' }}]
[[turn]]
steps = [{{ text = "Done." }}]
"#
    )
}

pub(crate) fn desk() -> Desk {
    Desk::new("anthropic")
        .with_config("[tools.approval]\nauto_approve = [\"$default\", \"bash\"]\n")
}

/// The arguments of `jm chat` for a fresh document.
fn chat(desk: &Desk, number: u64) -> [String; 4] {
    let name = format!("t{number}.chat");
    std::fs::write(desk.path(&name), "@You:\nGo.\n").unwrap();
    ["chat".to_owned(), name, "--on-recovery".to_owned(), "keep".to_owned()]
}

/// True if it was killed before it had ended.
fn kill_once(desk: &Desk, number: u64, delay: Duration) -> bool {
    let args = chat(desk, number);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let mut scripted = desk.scripted(&turns(number), &args);
    let mut child = scripted.command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(delay);
    child.kill().unwrap();
    child.wait().unwrap().signal().is_some()
}

/// The document goes on to its end, and each call had the effect that its result tells.
pub(crate) fn check(desk: &Desk, number: u64) -> usize {
    let name = format!("t{number}.chat");
    let went_on = desk.scripted(DONE, &["chat", &name, "--on-recovery", "keep"]).end();
    let document = desk.read(&name);
    assert!(went_on.code == 0 && document.contains("Done."), "{went_on:?}\n{document}");
    let parsed = ChatDocument::parse(document.clone());
    assert!(parsed.open_calls().is_empty(), "{document}");
    let ran = desk.read("ran");
    for call in parsed.calls() {
        let AnswerState::Given { content, is_error } = &call.answer else {
            panic!("no result: {call:?}");
        };
        let arguments: Value = serde_json::from_str(&call.call.arguments).unwrap();
        let times = match arguments["command"].as_str() {
            Some(command) => {
                let mark = command.split(' ').nth(1).unwrap();
                ran.lines().filter(|line| *line == mark).count()
            }
            None => usize::from(desk.has(arguments["path"].as_str().unwrap())),
        };
        let allowed = if *is_error { 0..=1 } else { 1..=1 };
        assert!(allowed.contains(&times), "{times} times, {content}:\n{document}");
    }
    for mark in ["a", "b"] {
        let mark = format!("{number}-{mark}");
        assert!(ran.lines().filter(|line| **line == *mark).count() <= 1, "twice: {mark}");
    }
    let again = desk.scripted(DONE, &["chat", &name]).end();
    assert!(again.code == 0 && again.err.contains("Nothing to send"), "{again:?}");
    parsed.calls().len()
}

/// FL-CHAT, FL-PHASE, NFR-REL-04, FR-RES-05
#[test]
fn a_document_goes_on_after_kills_at_random_moments() {
    let kills = kills();
    let desk = desk();
    let began = Instant::now();
    let args = chat(&desk, 0);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let whole = desk.scripted(&turns(0), &args).end();
    assert_eq!(whole.code, 0, "{whole:?}\n{}", desk.read("t0.chat"));
    assert_eq!(desk.read("ran"), "0-a\n0-b\n");
    let mut span = u64::try_from(began.elapsed().as_micros()).unwrap();
    let (mut killed, mut with_calls) = (0, 0);
    for number in 1.. {
        assert!(number < 5 * kills, "only {killed} of {number} came in time");
        let delay = Duration::from_micros(noise(number, span));
        match kill_once(&desk, number, delay) {
            true => killed += 1,
            // The machine has become less busy since the span was measured.
            false => span = span * 3 / 4,
        }
        with_calls += usize::from(check(&desk, number) > 0);
        if killed == kills {
            break;
        }
    }
    println!("{killed} kills in {span} µs each, {with_calls} documents with calls");
    desk.verify();
}
