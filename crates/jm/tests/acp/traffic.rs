//! The traffic of a whole session, word for word: what an editor sends and gets.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::client::{Client, Home, Reply};

/// A conversation with a plan, an edit that is approved, one that is rejected, and a thought.
const WHOLE: &str = r#"
[model]
context = 200_000
thinking = "effort"
[[turn]]
expect = { user_contains = ["change the port", "<context ref=\"file:///notes.txt\">", "Ports begin at 9000."] }
steps = [
  { thinking = "I look first." },
  { text = "I read the file." },
  { call = "read_file", args = { path = "app.conf" } },
  { call = "todo_write", args = { action = "create", title = "Change the port" } },
]
usage = { input = 1200, output = 40 }
[[turn]]
expect = { results_contain = ["port = 8080"] }
steps = [{ call = "edit_file", args = { path = "app.conf", old_string = "port = 8080", new_string = "port = 9090" } }]
usage = { input = 1300, output = 40 }
[[turn]]
steps = [{ call = "write_file", args = { path = "evil.sh", content = "rm -rf /\n" } }]
usage = { input = 1400, output = 40 }
[[turn]]
expect = { results_contain = ["denied"] }
steps = [{ text = "The port is 9090." }]
usage = { input = 1500, output = 20 }
"#;

/// The traffic without what differs from run to run, and without updates that come by chance.
fn normal(traffic: &[(char, Value)], home: &Home, session: &str) -> String {
    let mut text = String::new();
    for (side, message) in traffic {
        let update = &message["params"]["update"];
        if update["status"] == "in_progress" {
            continue;
        }
        let mut message = message.clone();
        if let Some(options) = message.pointer_mut("/result/configOptions/1/options") {
            *options = json!(["…"]);
        }
        if let Some(at) = message.pointer_mut("/params/update/updatedAt") {
            *at = json!("TIME");
        }
        for place in
            ["/params/update/content/0/content/text", "/params/toolCall/content/0/content/text"]
        {
            if let Some(text) = message.pointer_mut(place)
                && text.as_str().is_some_and(|text| text.starts_with("Needs approval: "))
            {
                *text = json!("Needs approval: REASON");
            }
        }
        let root = home.path().canonicalize().unwrap();
        let line = message.to_string().replace(&*root.to_string_lossy(), "/HOME");
        let line = line.replace(session, "SESSION").replace(env!("CARGO_PKG_VERSION"), "VERSION");
        text.push_str(&format!("{side} {}\n", scripts_named(&line)));
    }
    text
}

/// The name of a script has the length of its text in it.
fn scripts_named(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("/script-") {
        let end = after.find(".toml").unwrap_or(0);
        out.push_str(before);
        out.push_str("/script");
        rest = &after[end..];
    }
    out + rest
}

/// Compares with the recorded traffic; `RECORD_TRAFFIC=1` records it anew.
fn check(name: &str, found: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/acp/traffic").join(name);
    if std::env::var_os("RECORD_TRAFFIC").is_some() {
        std::fs::write(&path, found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap();
    for (number, (found, expected)) in found.lines().zip(expected.lines()).enumerate() {
        assert_eq!(found, expected, "{name}, line {}", number + 1);
    }
    assert_eq!(found.lines().count(), expected.lines().count(), "{name}: number of lines");
}

fn prompt(client: &mut Client, session: &str) -> Result<Value, Value> {
    let resource = json!({"uri": "file:///notes.txt", "text": "Ports begin at 9000."});
    let prompt = json!([
        {"type": "text", "text": "change the port as in "},
        {"type": "resource", "resource": resource},
    ]);
    client.request("session/prompt", json!({"sessionId": session, "prompt": prompt}))
}

#[test]
fn a_whole_session_is_as_it_was_recorded() {
    let home = Home::new();
    let mut client = home.start(WHOLE, &[]);
    client.initialize(json!({"auth": {"terminal": true}, "session": {"notices": {}}}));
    let params = json!({"cwd": home.workspace().canonicalize().unwrap(), "mcpServers": []});
    let opened = client.request("session/new", params).unwrap();
    let session = opened["sessionId"].as_str().unwrap().to_owned();
    assert!(!home.journal().exists(), "nothing is written before the first prompt");
    client.answers.extend([Reply::Select("allow"), Reply::Select("reject")]);
    let ended = prompt(&mut client, &session).unwrap();
    assert_eq!(ended["stopReason"], "end_turn");
    assert_eq!(home.read("app.conf"), "port = 9090\nhost = local\n");
    assert!(!home.workspace().join("evil.sh").exists());
    client.request("session/close", json!({"sessionId": session})).unwrap();
    assert_eq!(client.leave(), 0);
    check("whole_session.jsonl", &normal(&client.traffic, &home, &session));
}
