//! Time that the program itself takes between two requests to a model, and how much memory a
//! conversation needs.
//!
//! `cargo bench -p jm --bench voices`. The model is a script in this process, the program a process of
//! its own with its journal on disk. The machine is noisy: compare the rows, not two runs.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a benchmark stops where it fails")]

use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use jm_providers::{AnswerSizes, ClientSettings, ModelRequest, Wire};
use jm_script::{Script, ScriptServer, ScriptedModel};
use jm_types::{Cancel, Message, StreamEvent};
use tokio::runtime::{Builder, Runtime};

const STEPS: usize = 20;
const RUNS: usize = 5;
const GIGABYTE: u64 = 1 << 30;

fn main() {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    println!("{:<46} {:>12} {:>12}", "", "p50", "p99");
    for wire in Wire::ALL {
        tool_turns(&runtime, wire);
    }
    let peak = peak_memory_of_children() / 1024;
    println!("{:<46} {peak:>9} MB   (goal: 40 MB)\n", "peak memory of these runs");
    for wire in Wire::ALL {
        long_answer(&runtime, wire);
    }
}

/// Reads a file in each step, then speaks.
fn script(wire: Wire) -> Script {
    let mut text = format!("wire = \"{}\"\n", wire.name());
    for _ in 0..STEPS {
        let step = "{ call = \"read_file\", args = { path = \"four_kilobytes\" } }";
        writeln!(text, "[[turn]]\nsteps = [{{ text = \"I look.\" }}, {step}]").unwrap();
    }
    text.push_str("[[turn]]\nsteps = [{ text = \"Done.\" }]\n");
    Script::parse(&text).unwrap()
}

/// From the last byte of an answer with a call to the next request: the call is recorded, judged,
/// run and answered, and the history written anew.
fn tool_turns(runtime: &Runtime, wire: Wire) {
    let mut times: Vec<Duration> = (0..RUNS).flat_map(|_| pauses_of_a_run(runtime, wire)).collect();
    times.sort_unstable();
    let (p50, p99) = (times[times.len() / 2], times[times.len() * 99 / 100]);
    let name = format!("one step of {STEPS}, journal on, {}", wire.name());
    println!("{name:<46} {p50:>12.2?} {p99:>12.2?}   (goal: 3 ms)");
}

fn pauses_of_a_run(runtime: &Runtime, wire: Wire) -> Vec<Duration> {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().to_owned();
    std::fs::write(root.join("four_kilobytes"), "a line of text\n".repeat(273)).unwrap();
    let pauses = runtime.block_on(async {
        let server = ScriptServer::start(script(wire)).await.unwrap();
        // Gemini's address is given without its version.
        let address = server.base_url(wire).trim_end_matches("/v1beta").to_owned();
        let work = move || converse(&root, wire, &address);
        tokio::task::spawn_blocking(work).await.unwrap();
        server.pauses()
    });
    assert_eq!(pauses.len(), STEPS);
    pauses
}

fn converse(root: &Path, wire: Wire, address: &str) {
    let vendor = wire.provider();
    let variable = |end: &str| {
        let base = if vendor == "openai-chat" { "OPENAI" } else { vendor };
        format!("{}_{end}", base.to_uppercase())
    };
    let status = Command::new(env!("CARGO_BIN_EXE_jm"))
        .args(["run", "look", "--model", &format!("{vendor}/script"), "--max-iterations", "100"])
        .current_dir(root)
        .env("HOME", root)
        .env("JM_STATE_DIR", root.join("state"))
        .env(variable("BASE_URL"), address)
        .env(variable("API_KEY"), "none")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success(), "{vendor}: {status}");
}

/// A gigabyte of words, heard and let go. Server and client share this process.
fn long_answer(runtime: &Runtime, wire: Wire) {
    const PIECE: usize = 16 * 1024;
    let times = GIGABYTE / PIECE as u64;
    let text = "x".repeat(PIECE);
    let script = format!(
        "wire = \"{}\"\n[[turn]]\nsteps = [{{ text = \"{text}\", repeat = {times} }}]\n",
        wire.name()
    );
    let script = Script::parse(&script).unwrap();
    let sizes = AnswerSizes { answer: None, ..AnswerSizes::default() };
    let settings = ClientSettings { sizes, ..ClientSettings::default() };
    let began = Instant::now();
    let heard = runtime.block_on(async {
        let client = ScriptedModel::start(script, &settings).await.unwrap();
        let request = ModelRequest {
            messages: vec![Message::user("tell")].into(),
            ..ModelRequest::default()
        };
        let mut stream = client.stream(request, Cancel::new());
        let mut heard = 0;
        while let Some(event) = stream.next().await {
            if let StreamEvent::Text { delta, .. } = event.unwrap() {
                heard += delta.len() as u64;
            }
        }
        heard
    });
    assert_eq!(heard, GIGABYTE);
    let name = format!("1 GB of words, {}", wire.name());
    println!("{name:<46} {:>12.2?} {:>9} MB at most", began.elapsed(), own_peak_memory() / 1024);
}

/// In kilobytes; without what the process was before it became this program, which `getrusage`
/// counts too.
fn own_peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    peak.trim().trim_end_matches(" kB").parse().unwrap()
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
