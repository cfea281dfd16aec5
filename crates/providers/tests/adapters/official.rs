//! The vendors' own Python packages: their types accept our requests, their clients read our server.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use jm_providers::Wire;
use jm_script::{Script, ScriptServer};
use serde_json::{Value, json};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

fn python(script: &str, arguments: &[String]) -> Output {
    Command::new(folder().join("official/python"))
        .arg(folder().join("official").join(script))
        .args(arguments)
        .env("NO_PROXY", "127.0.0.1")
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}

fn golden(wire: Wire, number: usize) -> PathBuf {
    folder().join("golden").join(format!("{}.{number}.json", wire.name()))
}

/// FL-PROV: every request of the golden conversations is one by the vendor's own definition.
#[test]
fn their_types_accept_our_requests() {
    let paths = Wire::ALL.into_iter().flat_map(|wire| (1..=3).map(move |n| golden(wire, n)));
    let paths: Vec<String> = paths.map(|path| path.display().to_string()).collect();
    let output = python("types_check.py", &paths);
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(said(&output).matches(" ok").count(), 12, "{}", said(&output));
}

/// The judge is no rubber stamp.
#[test]
fn their_types_refuse_a_request_that_is_wrong() {
    let scratch = tempfile::tempdir().unwrap();
    type Spoil = fn(&mut Value);
    let cases: [(Wire, Spoil); 4] = [
        (Wire::Anthropic, |body| body["messages"][0]["content"][0]["colour"] = json!("red")),
        (Wire::OpenaiResponses, |body| body["tools"][0]["strict"] = json!("maybe")),
        (Wire::OpenaiChat, |body| body["messages"][1]["role"] = json!("nobody")),
        (Wire::Gemini, |body| body["contents"][0]["parts"][0]["txt"] = json!("x")),
    ];
    let spoilt = cases.map(|(wire, spoil)| {
        let text = std::fs::read_to_string(golden(wire, 2)).unwrap();
        let mut body: Value = serde_json::from_str(&text).unwrap();
        spoil(&mut body);
        let path = scratch.path().join(format!("{}.spoilt.json", wire.name()));
        std::fs::write(&path, body.to_string()).unwrap();
        path.display().to_string()
    });
    let output = python("types_check.py", &spoilt);
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(said(&output).matches(" refused: ").count(), 4, "{}", said(&output));
}

/// The vendor's own client reads the scripted server as it reads the vendor.
#[tokio::test]
async fn their_clients_read_our_server() {
    let script = r#"
[[turn]]
steps = [
  { thinking = "Both at once, which is faster than one by one." },
  { text = "Ich lese beide Dateien — gleich, in einem Zug." },
  { call = "read_file", args = { path = "a.rs", limit = 3 } },
  { call = "list_files", args = {} },
]
usage = { input = 100, output = 40, reasoning = 10 }
"#;
    for wire in Wire::ALL {
        let server =
            ScriptServer::start(Script::parse(script).unwrap().in_wire(wire)).await.unwrap();
        let arguments = vec![
            wire.name().to_owned(),
            server.base_url(wire),
            golden(wire, 2).display().to_string(),
        ];
        let output = tokio::task::spawn_blocking(move || python("clients_check.py", &arguments));
        let output = output.await.unwrap();
        assert!(output.status.success(), "{wire:?}: {}", said(&output));
        let understood: Value = serde_json::from_slice(&output.stdout).unwrap();
        let (stop, output) = match wire {
            Wire::Anthropic => ("tool_use", 40),
            Wire::OpenaiResponses => ("completed", 40),
            Wire::OpenaiChat => ("tool_calls", 40),
            Wire::Gemini => ("STOP", 30),
        };
        let expected = json!({
            "text": "Ich lese beide Dateien — gleich, in einem Zug.",
            "thinking": "Both at once, which is faster than one by one.",
            "calls": [["read_file", {"limit": 3, "path": "a.rs"}], ["list_files", {}]],
            "stop": stop, "input": 100, "output": output,
        });
        assert_eq!(understood, expected, "{wire:?}");
    }
}
