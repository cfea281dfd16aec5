//! Tools of a server, used: confinement, names, changes, and what a killed program leaves.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::world::{Home, text};

/// By default a server writes nothing of the workspace and reaches no network.
#[test]
fn a_server_can_do_what_it_was_granted() {
    let write = r#"{"path":"made.txt","text":"x"}"#;
    for (more, says, is_made) in
        [("", "refused: Read-only file system", false), ("writable = ['.']", "written", true)]
    {
        let home = Home::with_server("modern", more);
        let output = home.jm(&["--yes", "--session", "s1", "call", "s__write", write]);
        assert!(text(&output).contains(says), "{more}: {}", text(&output));
        assert_eq!(home.workspace().join("made.txt").exists(), is_made);
        if is_made {
            let undone = home.jm(&["--session", "s1", "undo"]);
            assert!(undone.status.success(), "{}", text(&undone));
            assert!(!home.workspace().join("made.txt").exists(), "{}", text(&undone));
        }
        home.assert_nothing_left(more);
    }
}

#[test]
fn variables_pass_by_name_only() {
    let call = ["--yes", "call", "s__env", r#"{"name":"MY_API_KEY"}"#];
    for (more, says) in [("", "not set"), ("env = ['MY_API_KEY']", "canary")] {
        let home = Home::with_server("legacy", more);
        let output = home.command(&call).env("MY_API_KEY", "canary").output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), says, "{}", text(&output));
    }
}

/// Each call has a key of its own, which the journal knows.
#[test]
fn the_server_gets_the_key_of_the_call() {
    for era in ["legacy", "modern"] {
        let home = Home::with_server(era, "");
        for key in ["k1-1", "k1-2"] {
            let output = home.jm(&["--yes", "--session", "k1", "call", "s__meta"]);
            assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), key, "{}", text(&output));
        }
    }
}

/// The list changes between two calls of one session: the second is planned anew, by the new definition.
#[test]
fn a_changed_list_is_heard() {
    let home = Home::with_server("legacy", "");
    let calls = concat!(
        r#"{"name":"s__grow","args":{}}"#,
        "\n",
        r#"{"name":"s__echo","args":{"text":"after"}}"#,
        "\n",
    );
    let mut command = home.command(&["--yes", "exec", "--jsonl"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), calls.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = text(&output);
    assert!(said.contains("grown"), "{said}");
    assert!(said.contains("after") || said.contains("changed the definition"), "{said}");
    home.assert_nothing_left("grow");
}

/// Killed at any moment, the program takes its server along, and the call is not made again.
#[test]
fn a_killed_program_leaves_no_server() {
    for delay in [0, 60, 400] {
        let home = Home::with_server("legacy", "");
        let mut command =
            home.command(&["--yes", "--session", "k", "call", "s__slow", r#"{"steps":600}"#]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let until = Instant::now() + Duration::from_secs(20);
        while home.left().is_empty() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(delay));
        child.kill().unwrap();
        child.wait().unwrap();
        home.assert_nothing_left(&format!("killed after {delay} ms"));
        let recovered = home.jm(&["recover", "--on-recovery", "keep"]);
        assert!(recovered.status.success(), "{}", text(&recovered));
        let next = home.jm(&["--yes", "--session", "k", "call", "s__echo", r#"{"text":"on"}"#]);
        assert_eq!(String::from_utf8_lossy(&next.stdout).trim(), "on", "{}", text(&next));
    }
}

/// Annotations lower the colour of the risk and nothing else.
#[test]
fn a_server_that_says_it_only_reads_is_still_asked_about() {
    let home = Home::with_server("lying-hints", "");
    let asked = home.jm(&["call", "s__write", r#"{"path":"a","text":"b"}"#]);
    assert_eq!(asked.status.code(), Some(3), "{}", text(&asked));
    let home = Home::with_server("legacy", "read_only = ['echo']");
    let allowed = home.jm(&["call", "s__echo", r#"{"text":"hi"}"#]);
    assert_eq!(allowed.status.code(), Some(0), "{}", text(&allowed));
}

/// A server is judged by its own confinement: gaps in it need a person, and what commands were granted is not its own.
#[test]
fn the_gaps_that_count_are_those_of_the_server() {
    for (commands, code, says) in
        [("backend = 'none'", 3, "needs approval"), ("network = 'on'", 0, "hi")]
    {
        let home = Home::with_server("legacy", &format!("[tools.sandbox.commands]\n{commands}"));
        let call = ["--approve", "auto", "call", "s__echo", r#"{"text":"hi"}"#];
        let output = home.jm(&call);
        assert_eq!(output.status.code(), Some(code), "{commands}: {}", text(&output));
        assert!(text(&output).contains(says), "{commands}: {}", text(&output));
        home.assert_nothing_left(commands);
    }
}

/// A project's servers are none before it is trusted, nor after they have changed.
#[test]
fn a_projects_servers_need_trust() {
    let home = Home::with_server("legacy", "enabled = false");
    let server = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/mcp_server.py");
    let file = |behaviour: &str| {
        let servers = serde_json::json!({"mcpServers": {
            "p": {"command": "python3", "args": [server, behaviour]},
        }});
        std::fs::write(home.workspace().join(".mcp.json"), servers.to_string()).unwrap();
    };
    let call = || home.jm(&["--yes", "call", "p__echo", r#"{"text":"hi"}"#]);
    file("legacy");
    assert_ne!(call().status.code(), Some(0), "untrusted: {}", text(&call()));
    let trusted = home.jm(&["--yes", "trust"]);
    assert!(text(&trusted).contains(".mcp.json"), "{}", text(&trusted));
    assert_eq!(call().status.code(), Some(0), "{}", text(&call()));
    file("modern");
    assert_ne!(call().status.code(), Some(0), "changed: {}", text(&call()));
}
