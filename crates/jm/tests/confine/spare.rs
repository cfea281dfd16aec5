//! The launcher that waits for the next command: it holds nothing, nobody depends on it, and it never
//! outlives its program.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// A hang detector, no measure of speed.
const PATIENCE: Duration = Duration::from_secs(20);

/// A program that is told one call after another.
struct Desk {
    _place: TempDir,
    program: Child,
    calls: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Desk {
    fn open() -> Self {
        let place = tempfile::tempdir().unwrap();
        let mut program = Command::new(env!("CARGO_BIN_EXE_jm"));
        program.args(["exec", "--jsonl", "--no-journal", "--yes", "--allow", "run_command"]);
        program.current_dir(place.path()).env_clear().env("HOME", place.path());
        program.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("SECRET_TOKEN", "canary-77");
        program.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut program = program.spawn().unwrap();
        let (calls, answers) = (program.stdin.take().unwrap(), program.stdout.take().unwrap());
        Self { _place: place, program, calls, answers: BufReader::new(answers) }
    }

    fn run(&mut self, command: &str) -> String {
        run(&mut self.calls, &mut self.answers, command)
    }

    /// The launchers that wait, once the number of them is `many`.
    fn waiting(&self, many: usize) -> Vec<u32> {
        let until = Instant::now() + PATIENCE;
        loop {
            let mut children = Command::new("ps");
            children.args(["-o", "pid=,stat=,args=", "--ppid", &self.program.id().to_string()]);
            let listed = String::from_utf8(children.output().unwrap().stdout).unwrap();
            let launchers = listed.lines().filter(|line| line.contains("__launch"));
            let found: Vec<u32> = launchers
                .map(|line| line.split_whitespace().next().unwrap().parse().unwrap())
                .collect();
            if found.len() == many {
                return found;
            }
            assert!(Instant::now() < until, "not {many}: {listed}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Runs a command in a program that is told one call after another.
pub(crate) fn run(
    calls: &mut ChildStdin,
    answers: &mut BufReader<ChildStdout>,
    command: &str,
) -> String {
    let call = json!({"id": "c", "name": "run_command", "args": {"command": command}});
    writeln!(calls, "{call}").unwrap();
    let mut line = String::new();
    answers.read_line(&mut line).unwrap();
    let answer: Value = serde_json::from_str(&line).unwrap();
    answer["content"].as_str().unwrap_or(&line).to_owned()
}

/// True if the process table knows it, be it as dead.
fn is_listed(process: u32) -> bool {
    Path::new("/proc").join(process.to_string()).exists()
}

fn is_alive(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
}

fn kill(process: u32) {
    let sent = Command::new("kill").args(["-KILL", &process.to_string()]).status().unwrap();
    assert!(sent.success());
}

pub(crate) fn assert_gone(process: u32) {
    let until = Instant::now() + PATIENCE;
    while is_alive(process) {
        assert!(Instant::now() < until, "{process} is still alive");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn one_command_keeps_nobody_waiting_and_the_second_does() {
    let mut desk = Desk::open();
    assert_eq!(desk.run("echo one"), "one\n");
    assert!(desk.waiting(0).is_empty());
    assert_eq!(desk.run("echo two"), "two\n");
    let first = desk.waiting(1);
    assert_eq!(desk.run("echo three"), "three\n");
    let second = desk.waiting(1);
    assert_ne!(first, second, "it was used for the third command");
}

#[test]
fn what_waits_holds_nothing_of_ours() {
    let mut desk = Desk::open();
    ["true", "true"].into_iter().for_each(|command| drop(desk.run(command)));
    let place = format!("/proc/{}", desk.waiting(1)[0]);
    assert_eq!(std::fs::read(format!("{place}/environ")).unwrap(), b"");
    assert_eq!(std::fs::read_link(format!("{place}/cwd")).unwrap(), Path::new("/"));
    let held = std::fs::read_dir(format!("{place}/fd")).unwrap();
    let held = held.filter_map(|fd| std::fs::read_link(fd.unwrap().path()).ok());
    let mut kinds: Vec<String> = held
        .map(|what| what.to_string_lossy().split(':').next().unwrap_or_default().to_owned())
        .collect();
    kinds.sort();
    // Its line to the program is there once more while it listens.
    kinds.dedup();
    assert_eq!(kinds, ["/dev/null", "socket"]);
}

#[test]
fn nobody_depends_on_it() {
    let mut desk = Desk::open();
    ["true", "true"].into_iter().for_each(|command| drop(desk.run(command)));
    for round in 0..3 {
        let waiting = desk.waiting(1)[0];
        kill(waiting);
        // On a busy machine a killed process lives for a moment, and takes an order.
        assert_gone(waiting);
        assert_eq!(desk.run("echo on"), "on\n", "round {round}");
    }
}

#[test]
fn it_never_outlives_its_program() {
    for ending in ["by itself", "killed"] {
        let mut desk = Desk::open();
        ["true", "true"].into_iter().for_each(|command| drop(desk.run(command)));
        let waiting = desk.waiting(1)[0];
        let Desk { mut program, calls, .. } = desk;
        match ending {
            "killed" => program.kill().unwrap(),
            _ => drop(calls),
        }
        program.wait().unwrap();
        if ending == "by itself" {
            assert!(!is_listed(waiting), "it was not waited for");
        }
        assert_gone(waiting);
    }
}
