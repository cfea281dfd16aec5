//! The screen: from the start to the first frame, from a key to its frame in a long session, bytes a
//! frame, memory after a long transcript, and processor time while nothing happens.
//!
//! `cargo bench --bench screen`

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a bench stops where it fails")]
#![allow(clippy::print_stdout, reason = "a bench prints")]

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use jm_tui::app::{App, update};
use jm_tui::block::call::{End, Outcome};
use jm_tui::key::{Input, Key};
use jm_tui::msg::{Effect, Msg, NewCall, TurnEnd};
use jm_tui::status::Status;
use jm_tui::terminal::{Settings, Writer};
use jm_tui::text::{Line, Theme};
use jm_tui::view::view;

const SIZE: (usize, usize) = (120, 40);
const FRAME_END: &[u8] = b"\x1b[?2026l";

fn main() {
    start_to_first_frame();
    key_to_frame();
    memory_after_a_long_transcript();
    idle();
}

struct Session {
    app: App,
    writer: Writer<std::io::Sink>,
}

impl Session {
    fn new() -> Self {
        let settings = Settings { theme: Theme::default(), reflows: true, alternate: true };
        let mut app = App::new(Status::default());
        update(&mut app, Msg::Size { width: SIZE.0, height: SIZE.1 });
        Self { app, writer: Writer::new(std::io::sink(), settings, SIZE) }
    }

    fn hear(&mut self, msg: Msg) {
        let effects = update(&mut self.app, msg);
        let finished: Vec<Line> = effects
            .into_iter()
            .filter_map(|effect| match effect {
                Effect::Print(lines) => Some(lines),
                _ => None,
            })
            .flatten()
            .collect();
        self.writer.frame(&finished, &view(&self.app), SIZE).unwrap();
    }

    fn block(&mut self, number: usize) {
        let id = number.to_string();
        let arguments = format!(r#"{{"path":"src/{number}.rs","start_line":1,"end_line":40}}"#);
        let call = NewCall { id: id.clone(), key: id.clone(), name: "read_file".into(), arguments };
        self.hear(Msg::Calls(vec![call]));
        let end = End { outcome: Outcome::Completed, seconds: 0.1, display: "x".repeat(400) };
        self.hear(Msg::CallDone { id, end, diff: None });
    }
}

fn key_to_frame() {
    let mut session = Session::new();
    session.hear(Msg::TurnBegins { prompt: "go".into() });
    (0..10_000).for_each(|number| session.block(number));
    let (mut times, mut bytes) = (Vec::new(), Vec::new());
    for number in 0..5_000u64 {
        // A thousand tokens a second, and a key each ten milliseconds.
        session.app.clock += 1;
        session.hear(Msg::Text(if number % 40 == 39 { "end.\n\n" } else { "token " }.into()));
        if number % 10 == 0 {
            let begin = Instant::now();
            let key = if number % 500 == 490 { Key::Ctrl('u') } else { Key::Char('k') };
            session.hear(Msg::Input(Input::Key(key)));
            times.push(begin.elapsed());
            bytes.push(session.writer.last_bytes);
        }
    }
    times.sort();
    bytes.sort_unstable();
    let at = |percent: usize| times[times.len() * percent / 100];
    println!("key to frame, 10,000 blocks behind: p50 {:?}, p99 {:?} (goal: 5 ms)", at(50), at(99));
    println!(
        "bytes a frame: p50 {}, p99 {}",
        bytes[bytes.len() / 2],
        bytes[bytes.len() * 99 / 100]
    );
}

fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}

fn memory_after_a_long_transcript() {
    let mut session = Session::new();
    let paragraph = format!("{}\n\n", "word ".repeat(200));
    for _ in 0..500 {
        session.hear(Msg::TurnBegins { prompt: "go".into() });
        for _ in 0..100 {
            session.hear(Msg::Text(paragraph.clone()));
        }
        session.hear(Msg::TurnEnds(TurnEnd::Finished));
    }
    println!("memory after a transcript of 50 MB: {} MB (goal: 60 MB)", resident());
}

/// The program on a terminal of its own (`script`), with a model that says nothing.
fn program() -> (tempfile::TempDir, std::process::Child) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("s.toml"), "[[turn]]\nsteps = [{ text = \"x\" }]\n").unwrap();
    let line = format!("{} --model script:s.toml", env!("CARGO_BIN_EXE_jm"));
    let mut command = Command::new("script");
    command.args(["-qfc", &line, "/dev/null"]).current_dir(folder.path());
    command.env("JM_STATE_DIR", folder.path().join("state")).env("TERM", "xterm-256color");
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let child = command.spawn().unwrap();
    (folder, child)
}

fn read_to_frame(child: &mut std::process::Child) {
    let out = child.stdout.as_mut().unwrap();
    let mut seen = Vec::new();
    let mut buffer = [0; 4096];
    while !seen.windows(FRAME_END.len()).any(|window| window == FRAME_END) {
        let count = out.read(&mut buffer).unwrap();
        assert!(count > 0, "no frame came");
        seen.extend_from_slice(&buffer[..count]);
    }
}

fn start_to_first_frame() {
    let mut times = Vec::new();
    for _ in 0..20 {
        let begin = Instant::now();
        let (_folder, mut child) = program();
        read_to_frame(&mut child);
        times.push(begin.elapsed());
        child.kill().unwrap();
        child.wait().unwrap();
    }
    times.sort();
    println!(
        "start to the first frame, with `script` around it: {:?} (goal: 30 ms)",
        times[times.len() / 2]
    );
}

fn ticks(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

fn idle() {
    let (_folder, mut child) = program();
    read_to_frame(&mut child);
    std::thread::sleep(Duration::from_secs(2));
    let children = format!("/proc/{0}/task/{0}/children", child.id());
    let pid = std::fs::read_to_string(children).unwrap();
    let pid: u32 = pid.split_whitespace().next().unwrap().parse().unwrap();
    let before = ticks(pid);
    std::thread::sleep(Duration::from_secs(5));
    println!("ticks of the processor in 5 s at rest: {} (goal: 0)", ticks(pid) - before);
    child.kill().unwrap();
    child.wait().unwrap();
}
