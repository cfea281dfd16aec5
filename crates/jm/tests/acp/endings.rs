//! Turns that are cut short: cancelled, killed, left by the client; nothing runs on, nothing runs twice.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::client::{Client, EDIT, Home, PATIENCE, Reply, text};

/// A script whose command writes one line to `ran`, and then goes on for longer than anybody waits.
fn endless(mark: &str) -> String {
    let command = format!("echo started >> ran; exec -a {mark} sleep 600");
    format!(
        "[[turn]]\nsteps = [{{ call = \"run_command\", args = {{ command = \"bash -c '{command}'\" }} }}]\n\
         [[turn]]\nsteps = [{{ text = \"Over.\" }}]\n"
    )
}

fn running(mark: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let mut lines = processes.filter_map(|one| std::fs::read(one.path().join("cmdline")).ok());
    lines.any(|line| line.starts_with(mark.as_bytes()))
}

fn assert_ends(mark: &str) {
    let until = Instant::now() + PATIENCE;
    while running(mark) {
        assert!(Instant::now() < until, "{mark} still runs");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A client whose command runs.
fn at_work(home: &Home, mark: &str) -> (Client, String, i64) {
    let mut client = home.start(&endless(mark), &["--allow", "run_command"]);
    client.answers.push_back(Reply::Select("allow"));
    let session = client.open(home);
    let id = client.ask_prompt(&session, "run it");
    client.wait_for_status("in_progress");
    let until = Instant::now() + PATIENCE;
    while !running(mark) {
        assert!(Instant::now() < until, "the command does not start");
        std::thread::sleep(Duration::from_millis(20));
    }
    (client, session, id)
}

#[test]
fn a_cancelled_turn_ends_its_command_and_says_so() {
    assert!(jm_testing::has("namespaces"));
    let home = Home::new();
    let mark = format!("acp-cancel-{}", std::process::id());
    let (mut client, session, id) = at_work(&home, &mark);
    let params = json!({"sessionId": session});
    client.send(json!({"jsonrpc": "2.0", "method": "session/cancel", "params": params}));
    assert_eq!(client.answer(id).unwrap()["stopReason"], "cancelled");
    assert_ends(&mark);
    // The conversation goes on.
    assert_eq!(client.prompt(&session, "go on").unwrap()["stopReason"], "end_turn");
    let words = client.words();
    assert!(words.contains("cancelled; its changes so far were kept"), "{words}");
    assert!(words.ends_with("Over."), "{words}");
}

#[test]
fn a_question_that_is_called_off_runs_nothing() {
    let home = Home::new();
    let mut client = home.start(EDIT, &[]);
    let session = client.open(&home);
    client.answers.push_back(Reply::Cancel);
    assert_eq!(client.prompt(&session, "change it").unwrap()["stopReason"], "cancelled");
    assert_eq!(home.read("app.conf"), "port = 8080\nhost = local\n");
}

#[test]
fn an_option_that_was_not_offered_is_no() {
    let home = Home::new();
    let mut client = home.start(EDIT, &[]);
    let session = client.open(&home);
    client.answers.push_back(Reply::Select("allow_always"));
    assert_eq!(client.prompt(&session, "change it").unwrap()["stopReason"], "end_turn");
    assert_eq!(home.read("app.conf"), "port = 8080\nhost = local\n");
}

#[test]
fn a_client_that_vanishes_ends_everything() {
    assert!(jm_testing::has("namespaces"));
    let home = Home::new();
    let mark = format!("acp-vanish-{}", std::process::id());
    let (mut client, session, _) = at_work(&home, &mark);
    assert_eq!(client.leave(), 0);
    assert_ends(&mark);
    let log = text(&home.jm(&["log", &session]));
    assert!(log.contains("cancelled"), "{log}");
}

#[test]
fn a_killed_agent_recovers_and_runs_nothing_twice() {
    assert!(jm_testing::has("namespaces"));
    let home = Home::new();
    let mark = format!("acp-kill-{}", std::process::id());
    let (mut client, session, _) = at_work(&home, &mark);
    client.child.kill().unwrap();
    client.child.wait().unwrap();
    assert_ends(&mark);

    let mut next = home.start("[[turn]]\nsteps = [{ text = \"I see.\" }]\n", &[]);
    next.initialize(json!({}));
    let cwd = home.workspace();
    let params = json!({"sessionId": session, "cwd": cwd, "mcpServers": []});
    next.request("session/load", params).unwrap();
    next.answers.push_back(Reply::Cancel);
    assert_eq!(next.prompt(&session, "what now?").unwrap()["stopReason"], "cancelled");
    next.answers.push_back(Reply::Select("keep"));
    next.forget();
    assert_eq!(next.prompt(&session, "what now?").unwrap()["stopReason"], "end_turn");
    assert_eq!(next.words(), "I see.");
    // It ran on a layer, which is set aside; run once more it would have been kept.
    assert!(!home.workspace().join("ran").exists());
}

#[test]
fn an_agent_killed_in_a_question_has_done_nothing() {
    let home = Home::new();
    let mut client = home.start(EDIT, &[]);
    let session = client.open(&home);
    client.answers.push_back(Reply::Kill);
    client.ask_prompt(&session, "change it");
    while client.receive().is_some_and(|message| message["method"] != "session/request_permission")
    {
    }
    client.child.kill().unwrap();
    client.child.wait().unwrap();
    assert_eq!(home.read("app.conf"), "port = 8080\nhost = local\n");
    let mut next =
        home.start("[[turn]]\nsteps = [{ text = \"I see.\" }]\n", &["--on-recovery", "keep"]);
    next.initialize(json!({}));
    let params = json!({"sessionId": session, "cwd": home.workspace(), "mcpServers": []});
    next.request("session/resume", params).unwrap();
    assert_eq!(next.prompt(&session, "again").unwrap()["stopReason"], "end_turn");
    assert_eq!(home.read("app.conf"), "port = 8080\nhost = local\n");
}
