//! A program that takes and gives JSON, a line each.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;

/// A program that answers a line with a line.
pub(crate) struct Lines {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Lines {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, input, output }
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.input.write_all(format!("{message}\n").as_bytes()).unwrap();
    }

    fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).expect(&line)
    }

    /// The most memory that the program has had so far, in kilobytes (`VmHWM`).
    pub(crate) fn peak_memory(&self) -> u64 {
        let status = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(status).unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        peak.trim_end_matches("kB").trim().parse().unwrap()
    }

    pub(crate) fn ask(&mut self, message: &Value) -> Value {
        self.send(message);
        self.receive()
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        self.child.kill().unwrap_or_default();
        self.child.wait().map(drop).unwrap_or_default();
    }
}
