//! A session of `jm exec` that starts processes, and a look at what is left of them.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::world::World;

/// A hang detector, no measure of speed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// One `jm exec --jsonl` at work.
pub(crate) struct Desk {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    calls: usize,
}

impl Desk {
    pub(crate) fn open(world: &World, session: &str) -> Self {
        Self::open_with(world, session, &[])
    }

    /// The same, with more flags.
    pub(crate) fn open_with(world: &World, session: &str, flags: &[&str]) -> Self {
        let mut command = world.command(env!("CARGO_BIN_EXE_jm"));
        command
            .env("JM_TOOLS_SANDBOX_COMMANDS_BACKEND", world.backend)
            .args(["exec", "--jsonl", "--toolset", "standard", "--yes", "--session", session])
            .args(["--allow", "run_command", "--allow", "start_process", "--on-recovery", "keep"])
            .args(flags)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, input, output, calls: 0 }
    }

    /// The answer to one call.
    pub(crate) fn call(&mut self, name: &str, args: &Value) -> Value {
        self.calls += 1;
        writeln!(self.input, "{}", json!({"name": name, "args": args})).unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    /// The answer of a call that has to run.
    pub(crate) fn told(&mut self, name: &str, args: &Value) -> String {
        let answer = self.call(name, args);
        assert_eq!(answer["verdict"], "ran", "{name} {args}: {answer}");
        answer["content"].as_str().unwrap().to_owned()
    }

    /// Starts a process; its id.
    pub(crate) fn start(&mut self, args: &Value) -> String {
        let told = self.told("start_process", args);
        let id = told.strip_prefix("Started ").and_then(|rest| rest.split(':').next());
        id.unwrap_or_else(|| panic!("{told}")).to_owned()
    }

    pub(crate) fn process(&mut self, action: &str, id: &str, more: &Value) -> String {
        let mut args = json!({"action": action, "id": id});
        args.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
        self.told("process", &args)
    }

    /// Waits for a text, which has to come.
    pub(crate) fn until(&mut self, id: &str, text: &str) -> String {
        let told = self.process("wait", id, &json!({"until": text, "seconds": 20}));
        assert!(!told.contains("the text did not come"), "{id}, {text:?}: {told}");
        told
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// No more calls; how it ended.
    pub(crate) fn close(mut self) {
        drop(self.input);
        assert!(self.child.wait().unwrap().success());
    }
}

/// The list of `jm ps` as JSON, the oldest first.
pub(crate) fn listed(world: &World) -> Vec<Value> {
    let output = ps(world, &["--all", "--json"]);
    output.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub(crate) fn ps(world: &World, args: &[&str]) -> String {
    let output = world.command(env!("CARGO_BIN_EXE_jm")).arg("ps").args(args).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

pub(crate) fn await_true(what: &str, mut is_true: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_true() {
        assert!(Instant::now() < until, "it never happened: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
