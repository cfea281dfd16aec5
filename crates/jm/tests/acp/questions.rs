//! Questions at the client: how far an answer reaches, what stays off, and the forms of servers of tools.

use serde_json::{Value, json};

use crate::client::{Client, Home, Reply, text};

const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/mcp_server.py");

/// Writes a new file for each prompt.
const WRITES: &str = r#"
[[turn]]
steps = [{ call = "write_file", args = { path = "one.txt", content = "1" } }]
[[turn]]
steps = [{ call = "write_file", args = { path = "two.txt", content = "2" } }]
[[turn]]
steps = [{ text = "Done." }]
"#;

/// A command in a project where commands are off.
const COMMAND: &str = r#"
[[turn]]
steps = [{ call = "run_command", args = { command = "touch made" } }]
[[turn]]
steps = [{ text = "Done." }]
"#;

/// Runs a prompt in a new session of a new agent; gives the names of the options of each question.
fn asked(home: &Home, script: &str, args: &[&str], replies: &[&'static str]) -> Vec<Vec<String>> {
    let mut client = home.start(script, args);
    client.answers.extend(replies.iter().map(|option| Reply::Select(option)));
    let session = client.open(home);
    assert_eq!(client.prompt(&session, "go").unwrap()["stopReason"], "end_turn");
    assert!(client.answers.is_empty(), "each answer was asked for");
    options(&client)
}

fn options(client: &Client) -> Vec<Vec<String>> {
    let names = |question: &&Value| {
        let options = question["params"]["options"].as_array().unwrap();
        options.iter().map(|option| option["name"].as_str().unwrap().to_owned()).collect()
    };
    client.received("session/request_permission").iter().map(names).collect()
}

#[test]
fn an_answer_makes_no_rule_unless_the_person_let_it() {
    let home = Home::new();
    let questions = asked(&home, WRITES, &[], &["allow", "allow"]);
    assert_eq!(questions, [["Allow once", "Reject"], ["Allow once", "Reject"]]);
    let listed = text(&home.jm(&["policy", "list"]));
    assert!(!listed.contains("write_file: **"), "{listed}");
}

#[test]
fn always_shows_the_rule_and_reaches_as_far_as_it_may() {
    let home = Home::new();
    let session = ["--remember", "session"];
    let questions = asked(&home, WRITES, &session, &["always_session"]);
    let rule = "Always allow (this session): write_file: **";
    assert_eq!(questions, [["Allow once", rule, "Reject"]]);
    std::fs::remove_file(home.workspace().join("one.txt")).unwrap();
    std::fs::remove_file(home.workspace().join("two.txt")).unwrap();
    // Another session is asked again, and a wider scope was never there to choose.
    let questions = asked(&home, WRITES, &session, &["always_project", "reject"]);
    assert_eq!(questions.len(), 2);
    assert!(!home.workspace().join("one.txt").exists());
    let project = ["--remember", "everywhere"];
    let questions = asked(&home, WRITES, &project, &["always_project"]);
    let names = ["Allow once", rule, "Always allow (this project): write_file: **", "Reject"];
    assert_eq!(questions, [names]);
    std::fs::remove_file(home.workspace().join("one.txt")).unwrap();
    std::fs::remove_file(home.workspace().join("two.txt")).unwrap();
    // The rule is the person's now, and is found where the others are.
    assert!(asked(&home, WRITES, &[], &[]).is_empty());
    let listed = text(&home.jm(&["policy", "list"]));
    assert!(listed.contains("write_file: **"), "{listed}");
}

#[test]
fn a_client_can_keep_commands_off_and_needs_leave_to_turn_them_on() {
    assert!(jm_testing::has("namespaces"));
    let home = Home::new();
    let off = ["Allow once", "Reject", "Reject, and keep run_command off in this project"];
    // Called off or rejected once, nothing is remembered: the next session is asked again.
    let mut client = home.start(COMMAND, &[]);
    client.answers.push_back(Reply::Cancel);
    let session = client.open(&home);
    assert_eq!(client.prompt(&session, "go").unwrap()["stopReason"], "cancelled");
    assert_eq!(options(&client), [off]);
    assert_eq!(asked(&home, COMMAND, &[], &["reject"]), [off]);
    let on = "Allow, and turn run_command on for this project";
    let questions = asked(&home, COMMAND, &["--remember", "project"], &["always_project"]);
    assert_eq!(questions.len(), 1);
    assert!(questions[0].iter().any(|name| name == on), "{questions:?}");
    assert!(home.workspace().join("made").exists());

    let home = Home::new();
    assert_eq!(asked(&home, COMMAND, &[], &["reject_always"]), [off]);
    assert!(asked(&home, COMMAND, &[], &[]).is_empty(), "it stays off without a question");
    assert!(!home.workspace().join("made").exists());
}

/// A session of a new client with the server `s`, whose tool asks the person for a city.
fn with_server(home: &Home, era: &str, capabilities: Value) -> (Client, String) {
    let script = r#"
[[turn]]
steps = [{ call = "s__ask", args = {} }]
[[turn]]
steps = [{ text = "Done." }]
"#;
    let mut client = home.start(script, &[]);
    client.initialize(capabilities);
    let server = json!({"name": "s", "command": "python3", "args": [SERVER, era], "env": []});
    let params = json!({"cwd": home.workspace(), "mcpServers": [server]});
    let opened = client.request("session/new", params).unwrap();
    client.answers.push_back(Reply::Select("allow"));
    (client, opened["sessionId"].as_str().unwrap().to_owned())
}

/// The answer of the server as the call shows it.
fn result(client: &Client) -> String {
    let updates = client.updates("tool_call_update");
    let done = updates.iter().filter(|update| update["status"] == "completed");
    done.map(|update| update.to_string()).collect()
}

#[test]
fn a_servers_form_is_filled_in_at_the_client() {
    assert!(jm_testing::has("namespaces"));
    for era in ["legacy", "modern"] {
        for (answer, said) in [
            (json!({"action": "accept", "content": {"city": "Bonn"}}), "accept {'city': 'Bonn'}"),
            (json!({"action": "decline"}), "decline None"),
            (json!({"action": "cancel"}), "cancel None"),
            // An answer that does not fit the form is none.
            (json!({"action": "accept", "content": {"city": 7}}), "decline None"),
            (json!({"action": "accept", "content": {"token": "x"}}), "decline None"),
        ] {
            let home = Home::new();
            let (mut client, session) =
                with_server(&home, era, json!({"elicitation": {"form": {}}}));
            client.forms.push_back(answer);
            assert_eq!(client.prompt(&session, "go").unwrap()["stopReason"], "end_turn");
            let asked = client.received("elicitation/create");
            assert_eq!(asked.len(), 1, "{era}");
            let params = &asked[0]["params"];
            assert_eq!(params["message"], "Server s asks: Which city?");
            assert_eq!((&params["mode"], &params["sessionId"]), (&json!("form"), &json!(session)));
            let city = json!({"type": "string", "title": "city"});
            assert_eq!(params["requestedSchema"]["properties"]["city"], city);
            assert!(result(&client).contains(said), "{era}: {}", result(&client));
        }
    }
}

#[test]
fn a_client_without_forms_declines_and_says_so() {
    assert!(jm_testing::has("namespaces"));
    let home = Home::new();
    let (mut client, session) = with_server(&home, "modern", json!({"elicitation": {"url": {}}}));
    client.prompt(&session, "go").unwrap();
    assert!(client.received("elicitation/create").is_empty());
    assert!(result(&client).contains("decline None"), "{}", result(&client));
    let note = "Server s asked for input, which this client cannot show";
    assert!(client.words().contains(note), "{}", client.words());
}

#[test]
fn a_form_ends_with_its_turn() {
    assert!(jm_testing::has("namespaces"));
    for era in ["legacy", "modern"] {
        let home = Home::new();
        let (mut client, session) = with_server(&home, era, json!({"elicitation": {"form": {}}}));
        client.forms.push_back(Value::Null);
        assert_eq!(client.prompt(&session, "go").unwrap()["stopReason"], "cancelled", "{era}");
        let form = client.received("elicitation/create")[0]["id"].clone();
        while client.received("$/cancel_request").is_empty() {
            client.receive().expect("the form is withdrawn");
        }
        // The session goes on, and an answer that comes too late is heard by nobody.
        let late = json!({"action": "accept", "content": {"city": "Bonn"}});
        client.send(json!({"jsonrpc": "2.0", "id": form, "result": late}));
        assert_eq!(client.prompt(&session, "and?").unwrap()["stopReason"], "end_turn", "{era}");
        let withdrawn = client.received("$/cancel_request");
        assert_eq!(withdrawn.len(), 1, "{era}");
        assert_eq!(withdrawn[0]["params"]["requestId"], form, "{era}");
    }
}
