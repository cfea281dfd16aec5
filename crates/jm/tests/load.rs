//! Load: many sessions on one journal with `jm gc` beside them, and one session with many calls.
//!
//! A release build with `JM_LONG=1` runs what is promised, on a disk: 32 sessions of 200 calls, and 20,000 calls in one
//! process (`./test --long`). Otherwise the same code runs a small part of that in memory, with bounds that a busy
//! machine and a debug build keep.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

struct Load {
    sessions: usize,
    calls: usize,
    /// The time that 99 of 100 calls take at most.
    p99: Duration,
    in_one: usize,
    /// Of a hundred parts of the first calls' rate, what the last ones must keep.
    kept: usize,
}

const SMALL: Load =
    Load { sessions: 8, calls: 20, p99: Duration::from_secs(5), in_one: 1_000, kept: 40 };
const LONG: Load =
    Load { sessions: 32, calls: 200, p99: Duration::from_millis(250), in_one: 20_000, kept: 80 };

fn is_long() -> bool {
    std::env::var_os("JM_LONG").is_some() && !cfg!(debug_assertions)
}

fn load() -> Load {
    if is_long() { LONG } else { SMALL }
}

/// A workspace and a state directory of its own; on a disk where figures count, else in memory, so that other
/// programs' syncs do not count.
struct Ground {
    _scratch: tempfile::TempDir,
    base: PathBuf,
}

impl Ground {
    fn new() -> Self {
        let scratch = if is_long() {
            tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))
        } else {
            tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir())
        };
        let scratch = scratch.unwrap();
        let base = scratch.path().canonicalize().unwrap();
        std::fs::create_dir(base.join("w")).unwrap();
        for number in 0..50 {
            std::fs::write(base.join(format!("w/f{number}")), "line\n".repeat(20)).unwrap();
        }
        Self { _scratch: scratch, base }
    }

    fn jm(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_jm"));
        command
            .args(args)
            .current_dir(self.base.join("w"))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &self.base)
            .env("JM_STATE_DIR", self.base.join("state"))
            .stdin(Stdio::null());
        command
    }

    fn says(&self, args: &[&str]) -> String {
        let output = self.jm(args).output().unwrap();
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(output.status.success(), "jm {args:?}: {said}");
        said
    }

    fn session(&self, name: &str) -> Talk {
        let args = ["exec", "--jsonl", "--approve", "auto", "--session", name];
        let mut child =
            self.jm(&args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Talk { input: child.stdin.take(), child, output }
    }
}

struct Talk {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Talk {
    /// How long the call took; it must have run.
    fn call(&mut self, call: &Value) -> Duration {
        let began = Instant::now();
        writeln!(self.input.as_mut().unwrap(), "{call}").unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["verdict"], "ran", "{call}: {line}");
        began.elapsed()
    }

    fn end(mut self) {
        drop(self.input.take());
        assert!(self.child.wait().unwrap().success());
    }
}

/// A file of one's own written, read, read in part; a shared one read.
fn mixed(session: &str, number: usize) -> Value {
    let own = format!("{session}-{}", number / 4);
    match number % 4 {
        0 => json!({"name": "write_file", "args": {"path": own, "content": "x\n"}}),
        1 => json!({"name": "read_file", "args": {"path": own}}),
        2 => json!({"name": "read_file", "args": {"path": format!("f{}", number % 50)}}),
        _ => json!({"name": "read_file", "args": {"path": own, "start_line": 1, "end_line": 1}}),
    }
}

/// Garbage for `jm gc`: contents that nobody uses any more.
fn litter(state: &Path, seed: u32) {
    let connection = rusqlite::Connection::open(state.join("journal.db")).unwrap();
    connection.busy_timeout(Duration::from_secs(30)).unwrap();
    for number in 0..20_u32 {
        let name = jm_types::Digest::of(&(seed * 1_000 + number).to_le_bytes()).to_string();
        connection
            .execute_batch(&format!(
                "BEGIN IMMEDIATE; INSERT INTO blobs VALUES ('{name}', 65536, 65536, 0);
                 INSERT INTO chunks VALUES ('{name}', 0, randomblob(65536)); COMMIT"
            ))
            .unwrap();
    }
}

#[test]
fn many_sessions_write_to_one_journal_and_none_waits_for_long() {
    let Load { sessions, calls, p99, .. } = load();
    // Whatever else runs here can only make it slower, so the best of a few rounds counts.
    let best = (0..ROUNDS).map(|_| slowest_of_most(sessions, calls)).find(|time| *time < p99);
    assert!(best.is_some(), "p99 is more than {p99:?} in each of {ROUNDS} rounds");
}

/// The time that 99 of 100 calls of so many sessions stay within. None fails, nor does `jm gc` beside them, in any round.
fn slowest_of_most(sessions: usize, calls: usize) -> Duration {
    let ground = Ground::new();
    ground.says(&["verify"]);
    let is_over = AtomicBool::new(false);
    let (mut times, collections) = std::thread::scope(|scope| {
        let collector = scope.spawn(|| {
            let mut count = 0;
            while !is_over.load(Ordering::Relaxed) {
                litter(&ground.base.join("state"), count);
                let said = ground.says(&["gc"]);
                assert!(said.contains("unused contents"), "{said}");
                assert!(!said.contains("locked") && !said.contains("damage"), "{said}");
                count += 1;
            }
            count
        });
        let work = |name: String| {
            let mut talk = ground.session(&name);
            let times = (0..calls).map(|number| talk.call(&mixed(&name, number)));
            let times: Vec<Duration> = times.collect();
            talk.end();
            times
        };
        let names = (0..sessions).map(|number| format!("s{number}"));
        let threads: Vec<_> = names.map(|name| scope.spawn(move || work(name))).collect();
        let times = threads.into_iter().flat_map(|thread| thread.join().unwrap());
        let times: Vec<Duration> = times.collect();
        is_over.store(true, Ordering::Relaxed);
        (times, collector.join().unwrap())
    });
    times.sort_unstable();
    let at = |part: usize| times[(times.len() * part / 100).min(times.len() - 1)];
    println!(
        "{} calls of {sessions} sessions, {collections} collections beside them: p50 {:?}, p90 {:?}, p99 {:?}, max {:?}",
        times.len(),
        at(50),
        at(90),
        at(99),
        at(100)
    );
    assert!(collections > 0);
    assert!(ground.says(&["verify"]).contains("Journal OK"));
    at(99)
}

#[test]
fn the_last_of_many_calls_is_about_as_fast_as_the_first() {
    let Load { in_one, kept, .. } = load();
    // Whatever else runs here can only make it slower, so the best of a few rounds counts.
    let holds = (0..ROUNDS).any(|_| {
        let (first, last) = first_and_last_rate(in_one);
        last * 100.0 >= first * kept as f64
    });
    assert!(holds, "the last tenth of the calls is slower than {kept} % of the first");
}

const ROUNDS: usize = 3;

/// Calls a second in the first and in the last tenth of so many calls of one process.
fn first_and_last_rate(calls: usize) -> (f64, f64) {
    let ground = Ground::new();
    let mut talk = ground.session("s");
    let times: Vec<Duration> = (0..calls).map(|number| talk.call(&mixed("s", number))).collect();
    talk.end();
    let rate = |times: &[Duration]| {
        let sum: Duration = times.iter().sum();
        times.len() as f64 / sum.as_secs_f64()
    };
    let rates: Vec<f64> = times.chunks(calls / 10).map(rate).collect();
    println!("calls a second, in tenths of {calls} calls: {rates:.0?}");
    (rates[0], rates[rates.len() - 1])
}
