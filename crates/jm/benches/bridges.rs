//! The bridges to other programs: a call through our MCP client beside the bare round trip, the start with servers in the
//! configuration beside none, and `jm acp` from its start to the answer of `initialize`.
//!
//! `cargo bench -p jm --bench bridges`. The machine is noisy: compare the columns, not two runs.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a bench stops where it fails")]

mod shared;

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;
use shared::lines::Lines;
use shared::{difference, heading, in_turns, report, sample};

const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/mcp_server.py");
const FRAME_END: &[u8] = b"\x1b[?2026l";

fn main() {
    heading();
    a_call_through_the_client();
    start_with_servers();
    start_to_initialize();
}

fn jm(home: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jm"));
    command.current_dir(home.join("w")).env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", home);
    command.env("TERM", "xterm-256color").args(args);
    command
}

/// A home with so many servers.
fn home(servers: usize) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(home.path().join("w")).unwrap();
    std::fs::create_dir_all(home.path().join(".config/journeyman")).unwrap();
    let table =
        |number| format!("[mcp.s{number}]\ncommand = [\"python3\", \"{SERVER}\", \"good\"]\n");
    let config: String = (0..servers).map(table).collect();
    std::fs::write(home.path().join(".config/journeyman/config.toml"), config).unwrap();
    home
}

fn a_call_through_the_client() {
    let home = home(1);
    let call = json!({"id": "c", "name": "s0__echo", "args": {"text": "x"}});
    let start = |flags: &[&str]| {
        let mut ours = Lines::start(&mut jm(home.path(), &[&["exec", "--jsonl"], flags].concat()));
        let answer = ours.ask(&call);
        assert_eq!(answer["verdict"], "ran", "{answer}");
        ours
    };
    let mut asked = start(&["--yes"]);
    let mut ours = start(&["--allow", "s0__echo"]);
    let mut bare = Lines::start(Command::new("python3").args([SERVER, "good"]));
    let info = json!({"name": "bench", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
    bare.ask(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}));
    bare.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let params = json!({"name": "echo", "arguments": {"text": "x"}});
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let [ours, theirs] = in_turns(
        300,
        || drop(ours.ask(&call)),
        || {
            let answer = bare.ask(&request);
            assert_eq!(answer["id"], 1, "{answer}");
        },
    );
    let asked = sample(300, || drop(asked.ask(&call)));
    let ours = report("MCP call through jm, journaled", &ours);
    let theirs = report("the bare round trip", &theirs);
    difference("more than bare (goal: 1 ms)", ours, theirs);
    report("the same, asked about and answered by --yes", &asked);
}

/// From the start of the screen to its first frame.
fn first_frame(home: &Path) {
    let program = format!("{} --model script:none.toml", env!("CARGO_BIN_EXE_jm"));
    let mut command = jm(home, &[]);
    let mut script = Command::new("script");
    script.args(["-qefc", &program, "/dev/null"]).current_dir(home.join("w")).env_clear();
    script.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.stdin(Stdio::null());
    let mut child = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut output = child.stdout.take().unwrap();
    let mut seen = Vec::new();
    let mut buffer = [0; 4096];
    while !seen.windows(FRAME_END.len()).any(|window| window == FRAME_END) {
        let count = output.read(&mut buffer).unwrap();
        assert!(count > 0, "no frame: {}", String::from_utf8_lossy(&seen));
        seen.extend_from_slice(&buffer[..count]);
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

fn start_with_servers() {
    let (five, none) = (home(5), home(0));
    let [with, without] = in_turns(20, || first_frame(five.path()), || first_frame(none.path()));
    let with = report("start to the first frame, five servers", &with);
    let without = report("the same, no server", &without);
    difference("more with five (goal: 5 ms)", with, without);
}

fn start_to_initialize() {
    let home = home(0);
    let params = json!({"protocolVersion": 1, "clientCapabilities": {}});
    let request = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    let times = sample(100, || {
        let mut agent = Lines::start(&mut jm(home.path(), &["acp"]));
        let answer = agent.ask(&request);
        assert_eq!(answer["result"]["protocolVersion"], 1, "{answer}");
    });
    report("jm acp, start to `initialize` (goal: 15 ms)", &times);
}
