//! `jm mcp serve`, spoken to as a client speaks: lines of JSON, in both eras.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::world::{Home, text};

const MODERN: &str = "2026-07-28";
const LEGACY: &str = "2025-11-25";

/// A client of one era.
struct Client {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    revision: &'static str,
    capabilities: Value,
    next: u64,
}

impl Client {
    fn start(home: &Home, revision: &'static str, capabilities: Value, flags: &[&str]) -> Self {
        let mut command: Command = home.command(&["mcp", "serve"]);
        command.args(flags).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut client = Self { child, input, output, revision, capabilities, next: 1 };
        if revision == LEGACY {
            let info = json!({"name": "test", "version": "1"});
            let began = client.ask("initialize", json!({
                "protocolVersion": LEGACY, "capabilities": client.capabilities, "clientInfo": info,
            }));
            assert_eq!(began["result"]["protocolVersion"], LEGACY, "{began}");
            client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        }
        client
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("no JSON: {line:?}"))
    }

    /// Sends a request; gives the next message, which may be a question.
    fn request(&mut self, method: &str, mut params: Value) -> u64 {
        if self.revision == MODERN {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientCapabilities": self.capabilities,
            });
        }
        let id = self.next;
        self.next += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        let answer = self.receive();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    fn call(&mut self, name: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({"name": name, "arguments": arguments}))["result"].clone()
    }

    /// Closes its input, and waits for its end.
    fn end(mut self) {
        drop(self.input.take());
        assert!(self.child.wait().unwrap().success());
    }
}

fn elicits() -> Value {
    json!({"elicitation": {"form": {}}})
}

fn edit() -> Value {
    json!({"path": "a.txt", "old_string": "one", "new_string": "two"})
}

fn home() -> Home {
    let home = Home::with_server("legacy", "enabled = false");
    std::fs::write(home.workspace().join("a.txt"), "one\n").unwrap();
    home
}

fn content(home: &Home) -> String {
    std::fs::read_to_string(home.workspace().join("a.txt")).unwrap()
}

#[test]
fn a_client_that_cannot_be_asked_reads_and_is_refused_the_rest() {
    for revision in [LEGACY, MODERN] {
        let home = home();
        let mut client = Client::start(&home, revision, json!({}), &[]);
        let tools = client.ask("tools/list", json!({}))["result"].clone();
        let names: Vec<&str> = tools["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|t| t["name"].as_str().unwrap())
            .collect();
        assert!(names.contains(&"read_file") && names.contains(&"undo"), "{names:?}");
        let read = client.call("read_file", json!({"path": "a.txt"}));
        assert_eq!(read["content"][0]["text"], "one\n", "{revision}: {read}");
        let refused = client.call("edit_file", edit());
        assert_eq!(refused["isError"], true, "{revision}: {refused}");
        let why = refused["content"][0]["text"].as_str().unwrap();
        assert!(why.contains("--allow edit_file"), "{revision}: {why}");
        let unknown = client.ask("tools/call", json!({"name": "nothing", "arguments": {}}));
        assert_eq!(unknown["error"]["code"], -32602, "{revision}: {unknown}");
        client.end();
        assert_eq!(content(&home), "one\n");
    }
}

#[test]
fn what_policy_allows_runs_and_is_taken_back() {
    for revision in [LEGACY, MODERN] {
        let home = home();
        let mut client = Client::start(&home, revision, json!({}), &["--allow", "edit_file"]);
        client.call("read_file", json!({"path": "a.txt"}));
        let changed = client.call("edit_file", edit());
        assert_eq!(changed["isError"], false, "{revision}: {changed}");
        assert_eq!(content(&home), "two\n");
        let uri = json!({"uri": "journeyman://session/diff"});
        let diff = client.ask("resources/read", uri)["result"]["contents"][0]["text"].clone();
        assert!(diff.as_str().unwrap().contains("-one\n+two"), "{diff}");
        let undone = client.call("undo", json!({}));
        assert_eq!(undone["isError"], false, "{revision}: {undone}");
        assert_eq!(content(&home), "one\n");
        let others = client.call("undo", json!({"call": "another-1"}));
        assert_eq!(others["isError"], true, "{others}");
        client.end();
    }
}

/// Up to 2025-11-25 the question comes within the call.
#[test]
fn an_older_client_is_asked_within_the_call() {
    for (decision, after) in [("allow once", "two\n"), ("deny", "one\n")] {
        let home = home();
        let mut client = Client::start(&home, LEGACY, elicits(), &[]);
        client.call("read_file", json!({"path": "a.txt"}));
        let id = client.request("tools/call", json!({"name": "edit_file", "arguments": edit()}));
        let question = client.receive();
        assert_eq!(question["method"], "elicitation/create", "{question}");
        assert!(question["params"]["message"].as_str().unwrap().contains("-one\n+two"));
        assert_eq!(content(&home), "one\n");
        let content_of = json!({"action": "accept", "content": {"decision": decision}});
        client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": content_of}));
        let answer = client.receive();
        assert_eq!(answer["id"], id);
        assert_eq!(answer["result"]["isError"], decision == "deny", "{answer}");
        let uri = json!({"uri": "journeyman://session/log"});
        let log = client.ask("resources/read", uri)["result"]["contents"][0]["text"].clone();
        let is_approved = log.as_str().unwrap().contains("approved by: client");
        assert_eq!(is_approved, decision == "allow once", "{log}");
        client.end();
        assert_eq!(content(&home), after);
    }
}

/// Since 2026-07-28 it is a round of its own, whose state is good once and for the very call.
#[test]
fn a_newer_client_is_asked_by_a_round() {
    let home = home();
    let mut client = Client::start(&home, MODERN, elicits(), &[]);
    client.call("read_file", json!({"path": "a.txt"}));
    let ask = |client: &mut Client| {
        let asks = client.call("edit_file", edit());
        assert_eq!(asks["resultType"], "input_required", "{asks}");
        assert!(asks["inputRequests"]["approval"]["params"]["message"].is_string(), "{asks}");
        asks["requestState"].clone()
    };
    let answer = |client: &mut Client, state: &Value, arguments: Value, decision: &str| {
        let response = json!({"action": "accept", "content": {"decision": decision}});
        client.ask(
            "tools/call",
            json!({
                "name": "edit_file", "arguments": arguments, "requestState": state,
                "inputResponses": {"approval": response},
            }),
        )
    };
    let state = ask(&mut client);
    let forged = answer(&mut client, &json!("forged"), edit(), "allow once");
    assert_eq!(forged["error"]["code"], -32602, "{forged}");
    let denied = answer(&mut client, &state, edit(), "deny");
    assert_eq!(denied["result"]["isError"], true, "{denied}");
    let again = answer(&mut client, &state, edit(), "allow once");
    assert_eq!(again["error"]["code"], -32602, "used twice: {again}");
    let state = ask(&mut client);
    let mut other = edit();
    other["new_string"] = json!("three");
    let swapped = answer(&mut client, &state, other, "allow once");
    assert_eq!(swapped["error"]["code"], -32602, "another call: {swapped}");
    let state = ask(&mut client);
    std::fs::write(home.workspace().join("a.txt"), "one more\n").unwrap();
    let moved = answer(&mut client, &state, edit(), "allow once");
    assert_eq!(moved["result"]["isError"], true, "the file is another: {moved}");
    assert_eq!(content(&home), "one more\n");
    std::fs::write(home.workspace().join("a.txt"), "one\n").unwrap();
    client.call("read_file", json!({"path": "a.txt"}));
    let state = ask(&mut client);
    let changed = answer(&mut client, &state, edit(), "allow once");
    assert_eq!(changed["result"]["isError"], false, "{changed}");
    client.end();
    assert_eq!(content(&home), "two\n");
    let undone = home.jm(&["undo"]);
    assert!(undone.status.success(), "{}", text(&undone));
    assert_eq!(content(&home), "one\n");
}

/// A client that vanishes, or is gone in the middle of a call, ends the server.
#[test]
fn a_server_ends_with_its_client() {
    let home = home();
    let mut client = Client::start(&home, LEGACY, json!({}), &["--allow", "run_command"]);
    client.request(
        "tools/call",
        json!({
            "name": "run_command", "arguments": {"command": "sleep 600"},
        }),
    );
    drop(client.input.take());
    let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
    loop {
        if client.child.try_wait().unwrap().is_some() {
            return;
        }
        assert!(std::time::Instant::now() < until, "the server goes on without its client");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}
