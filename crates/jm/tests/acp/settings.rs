//! Modes and configuration options: a client tightens, and never loosens.

use serde_json::{Value, json};

use crate::client::{EDIT, Home};

fn ids(modes: &Value) -> Vec<&str> {
    let modes = modes["availableModes"].as_array().unwrap();
    modes.iter().filter_map(|mode| mode["id"].as_str()).collect()
}

#[test]
fn a_client_can_tighten_the_mode_and_not_loosen_it() {
    let home = Home::new();
    let mut client = home.start(EDIT, &[]);
    client.initialize(json!({}));
    let params = json!({"cwd": home.workspace(), "mcpServers": []});
    let opened = client.request("session/new", params).unwrap();
    assert_eq!(ids(&opened["modes"]), ["prompt", "deny"]);
    assert_eq!(opened["modes"]["currentModeId"], "prompt");
    let session = &opened["sessionId"];
    let mode = |id: &str| json!({"sessionId": session, "modeId": id});
    let loosened = client.request("session/set_mode", mode("auto")).unwrap_err();
    assert!(loosened["message"].as_str().unwrap().contains("cannot loosen"), "{loosened}");
    client.request("session/set_mode", mode("deny")).unwrap();
    client.prompt(session.as_str().unwrap(), "change it").unwrap();
    assert_eq!(home.read("app.conf"), "port = 8080\nhost = local\n");
}

#[test]
fn the_person_may_start_it_with_a_laxer_mode() {
    let home = Home::new();
    let mut client = home.start(EDIT, &["--approve", "auto"]);
    client.initialize(json!({}));
    let params = json!({"cwd": home.workspace(), "mcpServers": []});
    let opened = client.request("session/new", params).unwrap();
    assert_eq!(ids(&opened["modes"]), ["auto", "effects", "prompt", "deny"]);
    let session = opened["sessionId"].as_str().unwrap();
    client.prompt(session, "change it").unwrap();
    assert_eq!(home.read("app.conf"), "port = 9090\nhost = local\n");
    let done = client.updates("tool_call_update");
    let diffs = done.iter().filter(|update| update["content"][0]["type"] == "diff");
    assert_eq!(diffs.count(), 1, "what nobody was asked about has its diff too");
}

#[test]
fn the_model_is_an_option() {
    let home = Home::new();
    let mut client = home.start(EDIT, &[]);
    let session = client.open(&home);
    let set = |value: &str| json!({"sessionId": session, "configId": "model", "value": value});
    let refused = client.request("session/set_config_option", set("nobody/nothing")).unwrap_err();
    assert_eq!(refused["code"], -32602);
    let model = "anthropic/claude-sonnet-4-5";
    let answer = client.request("session/set_config_option", set(model)).unwrap();
    assert_eq!(answer["configOptions"][1]["currentValue"], model);
    // Without a key the client is told to authenticate.
    let failed = client.prompt(&session, "hello").unwrap_err();
    assert_eq!(failed["code"], -32000, "{failed}");
}
