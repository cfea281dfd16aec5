//! Sessions over the protocol: made, listed, loaded, resumed, closed, deleted.

use serde_json::{Value, json};

use crate::client::{EDIT, Home, Reply, text};

fn calls(updates: &[&Value]) -> Vec<String> {
    updates.iter().filter_map(|call| call["title"].as_str().map(str::to_owned)).collect()
}

#[test]
fn the_diff_stands_in_the_call_before_the_question() {
    let home = Home::new();
    let mut client = home.start(EDIT, &[]);
    let session = client.open(&home);
    client.answers.push_back(Reply::Select("allow"));
    client.prompt(&session, "change it").unwrap();
    let asked = client
        .traffic
        .iter()
        .position(|(_, message)| message["method"] == "session/request_permission")
        .unwrap();
    let (_, before) = &client.traffic[asked - 1];
    let update = &before["params"]["update"];
    assert_eq!(update["sessionUpdate"], "tool_call_update");
    let path = home.workspace().canonicalize().unwrap().join("app.conf");
    let expected = json!({
        "type": "diff", "path": path,
        "oldText": "port = 8080\nhost = local\n", "newText": "port = 9090\nhost = local\n",
    });
    assert_eq!(update["content"][1], expected);
    let (_, question) = &client.traffic[asked];
    assert_eq!(question["params"]["toolCall"]["content"][1], expected);
    let log = text(&home.jm(&["log", &session]));
    assert!(log.contains("client test 1"), "{log}");
    let undone = text(&home.jm(&["undo", "--session", &session]));
    assert!(undone.contains("in use") || undone.contains("held"), "{undone}");
    client.request("session/close", json!({"sessionId": session})).unwrap();
    let undone = text(&home.jm(&["undo", "--session", &session]));
    assert!(undone.contains("restored: app.conf"), "{undone}");
}

#[test]
fn a_session_is_listed_loaded_and_resumed_in_another_process() {
    let home = Home::new();
    let mut first = home.start(EDIT, &[]);
    let session = first.open(&home);
    first.answers.push_back(Reply::Select("allow"));
    first.prompt(&session, "change it").unwrap();
    assert_eq!(first.leave(), 0);

    let more = "[[turn]]\nexpect = { user_contains = [\"and now?\"] }\nsteps = [{ text = \"Still 9090.\" }]\n";
    let mut second = home.start(more, &[]);
    second.initialize(json!({}));
    let cwd = home.workspace().canonicalize().unwrap();
    let listed = second.request("session/list", json!({"cwd": cwd})).unwrap();
    assert_eq!(listed["sessions"][0]["sessionId"], session.as_str());
    assert_eq!(listed["sessions"][0]["title"], "change it");
    let elsewhere = second.request("session/list", json!({"cwd": "/"})).unwrap();
    assert_eq!(elsewhere["sessions"], json!([]));

    let params = json!({"sessionId": session, "cwd": cwd, "mcpServers": []});
    second.request("session/load", params.clone()).unwrap();
    let said = second.updates("user_message_chunk");
    assert_eq!(said[0]["content"]["text"], "change it");
    assert_eq!(calls(&second.updates("tool_call")), ["read_file app.conf", "edit_file app.conf"]);
    assert_eq!(second.words(), "I look.Done.");
    second.forget();
    let ended = second.prompt(&session, "and now?").unwrap();
    assert_eq!(
        (&ended["stopReason"], second.words().as_str()),
        (&json!("end_turn"), "Still 9090.")
    );
    assert_eq!(second.leave(), 0);

    let mut third = home.start("[[turn]]\nsteps = [{ text = \"Yes.\" }]\n", &[]);
    third.initialize(json!({}));
    third.request("session/resume", params.clone()).unwrap();
    assert_eq!(third.updates("user_message_chunk"), Vec::<&Value>::new(), "resume tells nothing");
    third.forget();
    third.prompt(&session, "sure?").unwrap();
    assert_eq!(third.words(), "Yes.");
    third.request("session/delete", json!({"sessionId": session})).unwrap();
    let listed = third.request("session/list", json!({})).unwrap();
    assert_eq!(listed["sessions"], json!([]));
    let missing = third.request("session/prompt", json!({"sessionId": session, "prompt": []}));
    assert_eq!(missing.unwrap_err()["code"], -32002);
    let log = text(&home.jm(&["log", &session]));
    assert!(log.contains("sure?"), "the journal keeps what the list leaves out: {log}");
}

#[test]
fn what_is_no_message_costs_an_error_and_nothing_else() {
    let home = Home::new();
    let mut client = home.start(EDIT, &[]);
    let cases = [
        (json!([1]), -32600),
        (json!({"jsonrpc": "2.0", "id": 9, "method": "terminal/create", "params": {}}), -32601),
        (json!({"jsonrpc": "2.0", "id": 9, "method": "session/new", "params": {"cwd": 1}}), -32602),
        (
            json!({"jsonrpc": "2.0", "id": 9, "method": "session/new", "params": {"cwd": "w", "mcpServers": []}}),
            -32603,
        ),
        (
            json!({"jsonrpc": "2.0", "id": 9, "method": "session/new", "params": {"cwd": "/missing", "mcpServers": []}}),
            -32603,
        ),
        (
            json!({"jsonrpc": "2.0", "id": 9, "method": "session/load",
                   "params": {"sessionId": "nosuch", "cwd": home.workspace(), "mcpServers": []}}),
            -32603,
        ),
        (
            json!({"jsonrpc": "2.0", "id": 9, "method": "session/close", "params": {"sessionId": "x"}}),
            -32002,
        ),
    ];
    for (message, code) in cases {
        client.send(message.clone());
        let answer = client.receive().unwrap();
        assert_eq!(answer["error"]["code"], code, "{message} {answer}");
    }
    let session = client.open(&home);
    let faulty = json!([{"type": "audio", "mimeType": "audio/wav", "data": ""}]);
    let answer = client.request("session/prompt", json!({"sessionId": session, "prompt": faulty}));
    assert_eq!(answer.unwrap_err()["code"], -32602);
    client.answers.push_back(Reply::Select("allow"));
    assert_eq!(client.prompt(&session, "go").unwrap()["stopReason"], "end_turn");
}

#[test]
fn a_file_with_unsaved_changes_is_stale() {
    let home = Home::new();
    let again = EDIT.replace("[[turn]]\nsteps = [{ text = \"Done.\" }]", "[[turn]]\nexpect = { results_contain = [\"unsaved changes\"] }\nsteps = [{ text = \"Please save it.\" }]");
    let mut client = home.start(&again, &[]);
    client.initialize(json!({"fs": {"readTextFile": true}}));
    let params = json!({"cwd": home.workspace(), "mcpServers": []});
    let opened = client.request("session/new", params).unwrap();
    let session = opened["sessionId"].as_str().unwrap().to_owned();
    let path = home.workspace().canonicalize().unwrap().join("app.conf");
    client.buffers.push((path, "port = 8081\nhost = local\n".to_owned()));
    client.prompt(&session, "change it").unwrap();
    assert_eq!(client.words(), "I look.Please save it.");
    assert_eq!(home.read("app.conf"), "port = 8080\nhost = local\n");
}

#[test]
fn a_saved_buffer_is_written_under() {
    let home = Home::new();
    let mut client = home.start(EDIT, &[]);
    client.initialize(json!({"fs": {"readTextFile": true}}));
    let params = json!({"cwd": home.workspace(), "mcpServers": []});
    let opened = client.request("session/new", params).unwrap();
    client.answers.push_back(Reply::Select("allow"));
    client.prompt(opened["sessionId"].as_str().unwrap(), "change it").unwrap();
    assert_eq!(home.read("app.conf"), "port = 9090\nhost = local\n");
    let asked = client.traffic.iter().filter(|(_, it)| it["method"] == "fs/read_text_file");
    assert!(asked.count() > 0, "the editor was asked");
    let written = client.traffic.iter().filter(|(_, it)| it["method"] == "fs/write_text_file");
    assert_eq!(written.count(), 0, "every write is our own");
}

#[test]
fn commands_need_no_model() {
    let home = Home::new();
    let mut client = home.start(EDIT, &[]);
    let session = client.open(&home);
    client.answers.push_back(Reply::Select("allow"));
    client.prompt(&session, "change it").unwrap();
    assert_eq!(home.read("app.conf"), "port = 9090\nhost = local\n");
    for (command, said, file) in [
        ("/undo", "Undone", "port = 8080\nhost = local\n"),
        ("/redo", "Redone", "port = 9090\nhost = local\n"),
        ("/rename a title", "Renamed: a title", "port = 9090\nhost = local\n"),
        ("/status", "Model", "port = 9090\nhost = local\n"),
        ("/tools", "`read_file`", "port = 9090\nhost = local\n"),
    ] {
        client.forget();
        assert_eq!(client.prompt(&session, command).unwrap()["stopReason"], "end_turn");
        assert!(client.words().contains(said), "{command}: {}", client.words());
        assert_eq!(home.read("app.conf"), file, "{command}");
    }
}
