//! A place to work at: a workspace, a home, a state directory, and a model that follows a script.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use jm_store::Store;
use serde_json::Value;
use tempfile::TempDir;

pub(crate) const WIRES: [&str; 4] = ["anthropic", "openai-responses", "openai-chat", "gemini"];
pub(crate) const SESSION: &str = "S";
/// A turn that only speaks.
pub(crate) const DONE: &str = "[[turn]]\nsteps = [{ text = \"Done.\" }]\n";
const SIGINT: i32 = 2;

pub(crate) struct Desk {
    base: TempDir,
    wire: &'static str,
    scripts: AtomicUsize,
}

/// How a run of the program went.
pub(crate) struct Ran {
    /// As a shell has it: 130 for one that an interrupt ended.
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
    /// The requests to the model.
    pub(crate) requests: Vec<Value>,
    /// Its answers, as they came over the wire.
    pub(crate) answers: Vec<String>,
}

impl Desk {
    pub(crate) fn new(wire: &'static str) -> Self {
        let shared = Path::new("/dev/shm");
        let base = if shared.is_dir() { TempDir::new_in(shared) } else { TempDir::new() }.unwrap();
        let desk = Self { base, wire, scripts: AtomicUsize::new(0) };
        for folder in ["work", "home"] {
            fs::create_dir(desk.base.path().join(folder)).unwrap();
        }
        desk
    }

    pub(crate) fn with_file(self, name: &str, content: &str) -> Self {
        fs::write(self.path(name), content).unwrap();
        self
    }

    /// Of the user's configuration.
    pub(crate) fn with_config(self, text: &str) -> Self {
        let folder = self.base.path().join("home/.config/journeyman");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("config.toml"), text).unwrap();
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.base.path().join("work").join(name)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    pub(crate) fn jm(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_jm"));
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.base.path().join("home"))
            .env("JM_STATE_DIR", self.base.path().join("state"))
            // Few tools: the small contexts of some tests leave no room for many.
            .env("JM_TOOLSET", "forge")
            .current_dir(self.base.path().join("work"))
            .stdin(Stdio::null())
            .args(args);
        command
    }

    /// The program's answer to something that must work.
    pub(crate) fn ask(&self, args: &[&str]) -> String {
        let output = self.jm(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// A command that has this script for its model and keeps what is said in a recording.
    pub(crate) fn scripted(&self, turns: &str, args: &[&str]) -> Scripted {
        let number = self.scripts.fetch_add(1, Ordering::Relaxed);
        let script = self.base.path().join(format!("script-{number}"));
        let recording = self.base.path().join(format!("recording-{number}"));
        fs::write(&script, format!("wire = \"{}\"\n{turns}", self.wire)).unwrap();
        let mut command = self.jm(args);
        command.arg(format!("--model=script:{}", script.display()));
        command.arg("--record").arg(&recording);
        Scripted { command, recording }
    }

    /// `jm run` in the session, which begins or goes on.
    pub(crate) fn run(&self, turns: &str, more: &[&str]) -> Ran {
        let run = ["run", "please", "--approve", "auto", "--session", SESSION];
        self.scripted(turns, &[&run, more].concat()).end()
    }

    /// `jm run --resume`; the conversation must be accepted.
    pub(crate) fn resume(&self, more: &[&str]) -> Ran {
        let turn = "[[turn]]\nexpect = { user_contains = [\"go on now\"] }\n\
                    steps = [{ text = \"Back again.\" }]\n";
        let run = ["run", "go on now", "--approve", "auto", "--resume", SESSION];
        let ran = self.scripted(turn, &[&run, more].concat()).end();
        let answered = ran.code == 0 && ran.out == "Back again.\n";
        assert!(answered, "{}: the session does not go on: {ran:?}", self.wire);
        ran
    }

    /// The calls of the session's log.
    pub(crate) fn calls(&self) -> Vec<Value> {
        lines(&self.ask(&["log", SESSION, "--json"]), |line| line["call"].is_string())
    }

    /// The results of the calls, as the journal keeps them.
    pub(crate) fn contents(&self) -> Vec<String> {
        let store = Store::open(&self.base.path().join("state/journal.db")).unwrap();
        let calls = store.calls_after(&SESSION.into(), 0).unwrap();
        calls.iter().map(|call| store.content(call.result().unwrap().0).unwrap()).collect()
    }

    /// Every file of the journal.
    pub(crate) fn journal_bytes(&self) -> Vec<u8> {
        let files =
            ["journal.db", "journal.db-wal"].map(|name| self.base.path().join("state").join(name));
        files.iter().filter_map(|file| fs::read(file).ok()).flatten().collect()
    }

    pub(crate) fn verify(&self) {
        assert!(self.ask(&["verify"]).contains("Journal OK"));
    }
}

pub(crate) struct Scripted {
    pub(crate) command: Command,
    recording: PathBuf,
}

impl Scripted {
    pub(crate) fn end(mut self) -> Ran {
        let output = self.command.output().unwrap();
        self.ran(&output)
    }

    pub(crate) fn ran(&self, output: &Output) -> Ran {
        let recording = fs::read_to_string(&self.recording).unwrap_or_default();
        let kept = |key: &str| -> Vec<String> {
            let values = recording.lines().filter_map(|line| line.strip_prefix(key));
            values.map(|value| serde_json::from_str(value).unwrap()).collect()
        };
        let bodies = kept("request = ");
        Ran {
            code: output.status.code().or(interrupted(output)).unwrap_or(-1),
            out: text(&output.stdout),
            err: text(&output.stderr),
            requests: bodies.iter().map(|body| serde_json::from_str(body).unwrap()).collect(),
            answers: kept("raw = "),
        }
    }
}

fn interrupted(output: &Output) -> Option<i32> {
    (output.status.signal() == Some(SIGINT)).then_some(130)
}

impl std::fmt::Debug for Ran {
    /// Requests are long; what they say is looked at one by one.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { code, out, err, requests, .. } = self;
        write!(f, "exit {code} after {} requests\n{out}\n{err}", requests.len())
    }
}

impl Ran {
    /// The messages until the request of this number, without what is only for caches.
    pub(crate) fn history(&self, number: usize) -> Vec<Value> {
        let request = &self.requests[number];
        let said = ["messages", "input", "contents"].iter().find_map(|key| request.get(key));
        let mut said = said.and_then(Value::as_array).cloned().unwrap();
        said.retain(|message| message["role"] != "system" && message["role"] != "developer");
        said.iter_mut().for_each(forget_caching);
        said
    }

    pub(crate) fn events(&self, answer: usize) -> Vec<Value> {
        let data = self.answers[answer].lines().filter_map(|line| line.strip_prefix("data: "));
        data.map(|data| serde_json::from_str(data).unwrap_or_default()).collect()
    }
}

fn forget_caching(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("cache_control");
            fields.values_mut().for_each(forget_caching);
        }
        Value::Array(items) => items.iter_mut().for_each(forget_caching),
        _ => {}
    }
}

/// Every result in a history, whatever the vendor calls it.
pub(crate) fn results_of(history: &[Value]) -> Vec<String> {
    let mut found = Vec::new();
    for message in history {
        match message["role"].as_str().or(message["type"].as_str()) {
            Some("tool") => found.push(message["content"].clone()),
            Some("function_call_output") => found.push(message["output"].clone()),
            _ => {
                let parts = message.get("content").or(message.get("parts"));
                for part in parts.and_then(Value::as_array).into_iter().flatten() {
                    found.extend(part.get("content").cloned());
                    let response = &part["functionResponse"]["response"];
                    found.extend(response.get("output").or(response.get("error")).cloned());
                }
            }
        }
    }
    found.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The JSON lines that fit.
pub(crate) fn lines(text: &str, fits: impl Fn(&Value) -> bool) -> Vec<Value> {
    let lines = text.lines().filter_map(|line| serde_json::from_str(line).ok());
    lines.filter(fits).collect()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The same on every wire, side by side.
pub(crate) fn on_every_wire(check: impl Fn(&'static str) + Sync) {
    in_parallel(&WIRES, |wire| check(wire));
}

/// Every case on a thread of its own; the first that fails speaks for all.
pub(crate) fn in_parallel<T: Sync>(cases: &[T], check: impl Fn(&T) + Sync) {
    std::thread::scope(|scope| {
        let check = &check;
        let running: Vec<_> = cases.iter().map(|case| scope.spawn(move || check(case))).collect();
        for one in running {
            one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
    });
}
