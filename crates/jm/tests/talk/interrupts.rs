//! Ctrl-C, at whatever moment.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::desk::{DONE, Desk, SESSION, WIRES, on_every_wire};

/// Turns under way when the interrupt comes. Left alone, each takes half a minute.
const TURNS: &[&str] = &[
    // Before the first word.
    "[[turn]]\nsteps = [{ delay_ms = 30000 }]\n",
    // Among the words, and between whole calls.
    r#"
[[turn]]
steps = [
  { thinking = "Slowly." }, { delay_ms = 30 }, { text = "One " }, { delay_ms = 30 },
  { call = "write_file", args = { path = "never", content = "" } }, { delay_ms = 30 },
  { call = "write_file", args = { path = "never", content = "" } }, { delay_ms = 30000 },
]
"#,
    // While a command runs that has a child of its own.
    r#"
[[turn]]
steps = [
  { text = "I run it." },
  { call = "run_command", args = { command = "touch began; sleep NUMBER & sleep NUMBER; wait" } },
  { call = "write_file", args = { path = "never", content = "" } },
]
"#,
    // While a request waits to be sent again.
    "[[turn]]\nstatus = 429\nheaders = { retry-after = \"30\" }\n",
    // While the model sums up.
    r#"
[[turn]]
status = 400
body = '{"error":{"message":"maximum context length","type":"invalid_request_error","code":400}}'
[[turn]]
steps = [{ text = "In short" }, { delay_ms = 30000 }]
"#,
];
const COMMAND: usize = 2;
const INTERRUPTS: u64 = 15;

/// A moment that nobody chose, the same on every run (xorshift).
pub(crate) fn noise(seed: u64, below: u64) -> u64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    for _ in 0..4 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    state % below
}

fn interrupt(pid: u32) {
    assert!(Command::new("kill").args(["-INT", &pid.to_string()]).status().unwrap().success());
}

/// Processes that have this argument.
fn processes_with(argument: &str) -> Vec<String> {
    let entries = fs::read_dir("/proc").unwrap();
    let command_lines = entries.filter_map(|entry| {
        let line = fs::read(entry.ok()?.path().join("cmdline")).ok()?;
        Some(String::from_utf8_lossy(&line).replace('\0', " "))
    });
    command_lines.filter(|line| line.split(' ').any(|word| word == argument)).collect()
}

fn interrupt_once(desk: &Desk, wire: &str, seed: u64) {
    let kind = usize::try_from(seed).unwrap() % TURNS.len();
    let place = WIRES.iter().position(|one| *one == wire).unwrap();
    let number = format!("30.{place}{seed:03}");
    let turns = format!("{}{DONE}", TURNS[kind].replace("NUMBER", &number));
    let run = [
        "run",
        "please",
        "--approve",
        "auto",
        "--yes",
        "--allow",
        "run_command",
        "--session",
        SESSION,
    ];
    let mut scripted = desk.scripted(&turns, &run);
    // Its beginning is seen from outside, so it is not on a layer.
    let command = scripted.command.env("JM_TOOLS_SANDBOX_COMMANDS_LAYER", "off");
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let began = desk.path("began");
    while kind == COMMAND && !began.exists() && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    let below = if kind == COMMAND { 30_000 } else { 400_000 };
    std::thread::sleep(Duration::from_micros(noise(seed * 4 + place as u64, below)));
    interrupt(child.id());
    let ran = scripted.ran(&child.wait_with_output().unwrap());
    let what = format!("{wire}, interrupt {seed}: {ran:?}");
    assert_eq!(ran.code, 130, "{what}");
    assert_eq!(processes_with(&number), Vec::<String>::new(), "{what}");
    assert!(!desk.has("never"), "{what}");
    assert_eq!(began.exists(), kind == COMMAND, "{what}");
    if kind == COMMAND {
        fs::remove_file(began).unwrap();
    }
}

/// FR-EXE-04, T-CAN-01: the program stops, nothing of it stays behind, and the next prompt is
/// understood. One session bears all of a wire's interrupts.
#[test]
fn interrupted_at_random_moments() {
    on_every_wire(|wire| {
        let desk = Desk::new(wire);
        assert_eq!(desk.run(DONE, &[]).code, 0);
        for seed in 0..INTERRUPTS {
            interrupt_once(&desk, wire, seed);
            desk.resume(&[]);
        }
        for call in desk.calls() {
            assert!(call["result"].is_object(), "{wire}: {call}");
        }
        desk.verify();
    });
}
