//! A client that a test can drive: sends requests, answers questions from a list, and remembers what passed.

use std::collections::VecDeque;
use std::fs::{create_dir_all, write};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// How long anything may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A home with a workspace and scripts for the model.
pub(crate) struct Home(tempfile::TempDir);

impl Home {
    pub(crate) fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        create_dir_all(home.workspace()).unwrap();
        write(home.workspace().join("app.conf"), "port = 8080\nhost = local\n").unwrap();
        home
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.path().join("w")
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.path().join(".local/state/journeyman/journal.db")
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.workspace().join(name)).unwrap()
    }

    /// Writes a script; gives the name by which the model is opened.
    pub(crate) fn script(&self, text: &str) -> String {
        let path = self.path().join(format!("script-{}.toml", text.len()));
        write(&path, text).unwrap();
        format!("script:{}", path.display())
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_jm"));
        command.current_dir(self.path()).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", self.path());
        command.args(args);
        command
    }

    pub(crate) fn jm(&self, args: &[&str]) -> Output {
        let mut command = self.command(args);
        command.current_dir(self.workspace()).stdin(Stdio::null()).output().unwrap()
    }

    /// Starts an agent whose model follows a script.
    pub(crate) fn start(&self, script: &str, args: &[&str]) -> Client {
        self.connect(self.agent(script, args))
    }

    /// The command of an agent whose model follows a script.
    pub(crate) fn agent(&self, script: &str, args: &[&str]) -> Command {
        let model = self.script(script);
        let mut all = vec!["acp", "--model", &model];
        all.extend(args);
        self.command(&all)
    }

    /// Starts an agent, or a process that stands before it.
    pub(crate) fn connect(&self, mut command: Command) -> Client {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (sender, lines) = channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in output.lines() {
                let line = line.unwrap();
                let message = serde_json::from_str(&line).expect("only JSON on standard output");
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let input = child.stdin.take();
        let (seen, traffic, buffers) = (Vec::new(), Vec::new(), Vec::new());
        let (answers, forms) = (VecDeque::new(), VecDeque::new());
        Client { child, input, lines, next: 0, answers, forms, seen, traffic, buffers }
    }
}

/// The client's reaction to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reply {
    Select(&'static str),
    /// Sends `session/cancel` and answers that the question was called off.
    Cancel,
    /// Kills the agent.
    Kill,
}

pub(crate) struct Client {
    pub(crate) child: Child,
    pub(crate) input: Option<ChildStdin>,
    lines: Receiver<Value>,
    next: i64,
    /// The answers to the next questions.
    pub(crate) answers: VecDeque<Reply>,
    /// The answers to the next forms; `null` calls the turn off instead.
    pub(crate) forms: VecDeque<Value>,
    /// The updates since somebody looked.
    seen: Vec<Value>,
    pub(crate) traffic: Vec<(char, Value)>,
    /// Files as the editor has them, not saved.
    pub(crate) buffers: Vec<(PathBuf, String)>,
}

impl Client {
    pub(crate) fn send(&mut self, message: Value) {
        let line = format!("{message}\n");
        self.traffic.push(('>', message));
        self.input.as_mut().unwrap().write_all(line.as_bytes()).unwrap();
    }

    pub(crate) fn receive(&mut self) -> Option<Value> {
        let message = self.lines.recv_timeout(PATIENCE).ok()?;
        self.traffic.push(('<', message.clone()));
        Some(message)
    }

    pub(crate) fn ask(&mut self, method: &str, params: Value) -> i64 {
        let id = self.next;
        self.next += 1;
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// The answer to a request; questions that come before it are answered, updates are kept.
    pub(crate) fn answer(&mut self, id: i64) -> Result<Value, Value> {
        loop {
            let message = self.receive().expect("the agent answers");
            match (message["method"].as_str(), &message["id"]) {
                (Some("session/update"), _) => self.seen.push(message["params"]["update"].clone()),
                (Some("session/request_permission"), _) => self.reply(&message),
                (Some("fs/read_text_file"), _) => self.read_buffer(&message),
                (Some("elicitation/create"), _) => self.fill_in(&message),
                (Some("$/cancel_request"), _) => {}
                (Some(other), _) => panic!("unexpected request {other}"),
                (None, answered) if *answered == json!(id) => {
                    return match message.get("error") {
                        Some(error) => Err(error.clone()),
                        None => Ok(message["result"].clone()),
                    };
                }
                (None, _) => panic!("unexpected answer {message}"),
            }
        }
    }

    pub(crate) fn request(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        let id = self.ask(method, params);
        self.answer(id)
    }

    fn reply(&mut self, question: &Value) {
        let reply = self.answers.pop_front().expect("no question was expected");
        let outcome = match reply {
            Reply::Select(option) => json!({"outcome": "selected", "optionId": option}),
            Reply::Cancel => {
                let session = &question["params"]["sessionId"];
                let params = json!({"sessionId": session});
                self.send(json!({"jsonrpc": "2.0", "method": "session/cancel", "params": params}));
                json!({"outcome": "cancelled"})
            }
            Reply::Kill => return self.child.kill().unwrap(),
        };
        let result = json!({"outcome": outcome});
        self.send(json!({"jsonrpc": "2.0", "id": question["id"], "result": result}));
    }

    fn fill_in(&mut self, question: &Value) {
        match self.forms.pop_front().expect("no form was expected") {
            Value::Null => {
                let params = json!({"sessionId": question["params"]["sessionId"]});
                self.send(json!({"jsonrpc": "2.0", "method": "session/cancel", "params": params}));
            }
            result => self.send(json!({"jsonrpc": "2.0", "id": question["id"], "result": result})),
        }
    }

    /// The messages of a method that the agent sent so far.
    pub(crate) fn received(&self, method: &str) -> Vec<&Value> {
        let theirs = self.traffic.iter().filter(|(side, _)| *side == '<');
        theirs.map(|(_, message)| message).filter(|message| message["method"] == method).collect()
    }

    fn read_buffer(&mut self, request: &Value) {
        let path = PathBuf::from(request["params"]["path"].as_str().unwrap());
        let found = self.buffers.iter().find(|(name, _)| *name == path);
        let content = found.map(|(_, text)| text.clone()).or(std::fs::read_to_string(&path).ok());
        let answer = match content {
            Some(content) => json!({"result": {"content": content}}),
            None => json!({"error": {"code": -32002, "message": "no such file"}}),
        };
        let mut message = json!({"jsonrpc": "2.0", "id": request["id"]});
        message.as_object_mut().unwrap().extend(answer.as_object().unwrap().clone());
        self.send(message);
    }

    pub(crate) fn initialize(&mut self, capabilities: Value) -> Value {
        let info = json!({"name": "test", "version": "1"});
        let params = json!({
            "protocolVersion": 1, "clientCapabilities": capabilities, "clientInfo": info,
        });
        self.request("initialize", params).unwrap()
    }

    /// The id of a new session in the workspace, after `initialize`.
    pub(crate) fn open(&mut self, home: &Home) -> String {
        self.initialize(json!({}));
        let params = json!({"cwd": home.workspace(), "mcpServers": []});
        let opened = self.request("session/new", params).unwrap();
        opened["sessionId"].as_str().unwrap().to_owned()
    }

    pub(crate) fn prompt(&mut self, session: &str, text: &str) -> Result<Value, Value> {
        let id = self.ask_prompt(session, text);
        self.answer(id)
    }

    pub(crate) fn ask_prompt(&mut self, session: &str, text: &str) -> i64 {
        let prompt = json!([{"type": "text", "text": text}]);
        self.ask("session/prompt", json!({"sessionId": session, "prompt": prompt}))
    }

    /// The updates of a kind since the last look at any.
    pub(crate) fn updates(&self, kind: &str) -> Vec<&Value> {
        self.seen.iter().filter(|update| update["sessionUpdate"] == kind).collect()
    }

    pub(crate) fn forget(&mut self) {
        self.seen.clear();
    }

    /// All that was said as the model's words.
    pub(crate) fn words(&self) -> String {
        let chunks = self.updates("agent_message_chunk");
        chunks.iter().filter_map(|chunk| chunk["content"]["text"].as_str()).collect()
    }

    /// Waits until an update of a call has this status.
    pub(crate) fn wait_for_status(&mut self, status: &str) {
        loop {
            let message = self.receive().expect("the agent goes on");
            if message["method"] == "session/request_permission" {
                self.reply(&message);
                continue;
            }
            let update = &message["params"]["update"];
            self.seen.push(update.clone());
            if update["status"] == status {
                return;
            }
        }
    }

    /// Closes its end, and waits until the agent has ended by itself.
    pub(crate) fn leave(&mut self) -> i32 {
        self.input = None;
        self.ended()
    }

    pub(crate) fn ended(&mut self) -> i32 {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code().unwrap_or(-1);
            }
            assert!(Instant::now() < until, "the agent does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // It may have ended.
        self.child.kill().unwrap_or_default();
        self.child.wait().map(drop).unwrap_or_default();
    }
}

pub(crate) fn text(output: &Output) -> String {
    let (out, err) = (&output.stdout, &output.stderr);
    format!("{}{}", String::from_utf8_lossy(out), String::from_utf8_lossy(err))
}

/// A script that edits `app.conf` and then says what came of it.
pub(crate) const EDIT: &str = r#"
[[turn]]
steps = [{ text = "I look." }, { call = "read_file", args = { path = "app.conf" } }]
[[turn]]
steps = [{ call = "edit_file", args = { path = "app.conf", old_string = "port = 8080", new_string = "port = 9090" } }]
[[turn]]
steps = [{ text = "Done." }]
"#;
