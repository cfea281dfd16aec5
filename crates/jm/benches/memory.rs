//! Cost of the journal, beside a bare SQLite commit, and of going on with a long history.
//!
//! `cargo bench -p jm --bench memory`. `JM_BENCH_CALLS` sets the length of the history (100,000).

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a benchmark stops where it fails")]

mod shared;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use jm_engine::CallRecorder;
use jm_store::{CallRecord, Entry, Journal, Owner, Record, StoredResult};
use jm_system::clock::now_epoch_ms;
use jm_types::{ToolResult, Verdict};
use serde_json::json;
use shared::{Desk, bare, heading, report, sample};

fn main() {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().canonicalize().unwrap();
    heading();
    one_call(&root);
    long_history(&root);
}

fn owner() -> Owner {
    Owner { pid: std::process::id(), started: 0, boot: String::new() }
}

fn journal(path: &Path, session: &str, root: &Path) -> Journal {
    Journal::open(path, &session.into(), root, &owner(), &|_| false, now_epoch_ms).unwrap()
}

fn one_call(root: &Path) {
    let database = bare::database(&root.join("bare.db"));
    let mut number = 0;
    let commit = sample(1_000, || {
        number += 1;
        bare::commit(&database, number);
    });
    let commit = report("one bare commit, WAL, synchronous FULL", &commit);
    std::fs::write(root.join("file"), "a line of text\n".repeat(273)).unwrap();
    let read = |name: &str, recorder: CallRecorder| {
        let mut desk = Desk::new(root, recorder);
        let args = json!({"path": "file"});
        report(name, &sample(1_000, || drop(desk.call("read_file", &args))))
    };
    let plain = read("a 4 KB read, no journal", CallRecorder::none());
    let path = root.join("one.db");
    let recorder = CallRecorder::new(journal(&path, "bench", root), owner(), "nobody", None);
    let kept = read("a 4 KB read, journaled", recorder);
    let more = kept.saturating_sub(plain);
    let commits = more.as_secs_f64() / commit.as_secs_f64();
    println!("{:<50} {commits:>10.2} commits", "durable cost of a call");
    let size = std::fs::metadata(&path).unwrap().len();
    println!("{:<50} {:>10} bytes\n", "journal growth for each call", size / 1_100);
}

/// A history of many calls with outputs of 20 KB each, and the next call in it.
fn long_history(root: &Path) {
    let calls: u64 =
        std::env::var("JM_BENCH_CALLS").ok().and_then(|n| n.parse().ok()).unwrap_or(100_000);
    let state = root.join("state");
    std::fs::create_dir(&state).unwrap();
    let began = Instant::now();
    fill(&state.join("journal.db"), root, calls);
    let size = std::fs::metadata(state.join("journal.db")).unwrap().len();
    println!(
        "{calls} calls, {} MB of outputs, journal {} MB, made in {:.0?}",
        calls * 20_000 / 1_000_000,
        size / 1_000_000,
        began.elapsed()
    );
    let jm = PathBuf::from(env!("CARGO_BIN_EXE_jm"));
    let run = |args: &[&str]| {
        let status = Command::new(&jm)
            .args(args)
            .current_dir(root)
            .env("JM_STATE_DIR", &state)
            .env("HOME", root)
            .stdout(Stdio::null())
            .status()
            .unwrap();
        assert!(status.success());
    };
    let call = ["--session", "long", "call"];
    let list = [&call[..], &["list_directory", r#"{"path":"."}"#]].concat();
    report("going on with it: one call, whole process", &sample(30, || run(&list)));
    println!("{:<50} {:>9} MB", "peak memory of that", peak_memory_of_children() / 1024);
    let change = ["write_file", r#"{"path":"new","content":"new"}"#, "--approve", "auto"];
    run(&[&call[..], &change].concat());
    let back = || run(&["undo"]);
    let forth = || run(&["redo"]);
    let both = sample(10, || {
        back();
        forth();
    });
    report("undo and redo of the last change, two processes", &both);
}

fn fill(path: &Path, root: &Path, calls: u64) {
    let journal = journal(path, "long", root);
    for first in (0..calls).step_by(500) {
        let contents: Vec<String> = (first..(first + 500).min(calls)).map(content).collect();
        let records = contents
            .iter()
            .enumerate()
            .flat_map(|(index, content)| records(first + index as u64 + 1, content));
        let records: Vec<Record> = records.collect();
        let blobs = contents.iter().map(String::as_bytes).collect();
        journal.append(&Entry { records, blobs, ..Entry::default() }).unwrap();
    }
    journal.close(&Entry::default()).unwrap();
}

fn content(number: u64) -> String {
    let mut state = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut text = String::with_capacity(20_000);
    while text.len() < 20_000 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        text.push_str(&format!("{state:016x} some words\n"));
    }
    text
}

fn records(number: u64, content: &str) -> Vec<Record> {
    let call = format!("long-{number}");
    let result = ToolResult {
        call_id: "1".to_owned(),
        name: "run_command".to_owned(),
        content: content.to_owned(),
        display: String::new(),
        error: None,
    };
    let opened = CallRecord {
        call: call.clone().into(),
        id: "1".to_owned(),
        name: "run_command".to_owned(),
        arguments: "{}".to_owned(),
    };
    vec![
        Record::BatchOpened { batch: number.into(), calls: vec![opened] },
        Record::Planned {
            call: call.clone().into(),
            verdict: Verdict::Allow,
            rule: "rule".to_owned(),
            summary: "summary".to_owned(),
            risk: None,
        },
        Record::Started { call: call.clone().into(), process: owner() },
        Record::Finished {
            call: call.into(),
            result: StoredResult::new(&result, Vec::new()),
            duration_ms: 1,
        },
        Record::BatchSealed { batch: number.into() },
    ]
}

/// In kilobytes.
#[allow(unsafe_code)]
fn peak_memory_of_children() -> i64 {
    // SAFETY: getrusage fills the structure it is given; all zeroes is a valid value of it.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage);
        usage.ru_maxrss
    }
}
