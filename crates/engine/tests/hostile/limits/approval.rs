//! T-APR, APPR: a person decides once, on what was shown.

use jm_engine::{ApprovalDecision, Pause, SessionError};
use jm_types::{ApprovalMode, ToolCall, ToolEvent, ToolResult};
use serde_json::json;

use super::errors;
use crate::world::{OPENINGS, Setting, World, policy, quick_disk};

fn world() -> World {
    let policy = policy(ApprovalMode::Prompt);
    World::with(Setting { policy, disk: quick_disk(), ..Setting::new(OPENINGS[0]) })
}

fn read(id: &str) -> ToolCall {
    ToolCall::new(id, "read_file", &json!({ "path": "src/a.rs" }))
}

fn write(id: &str, path: &str) -> ToolCall {
    ToolCall::new(id, "write_file", &json!({ "path": path, "content": "x" }))
}

fn patch(id: &str) -> ToolCall {
    let patch = "LP1\nF src/a.rs\nR\ntwo\n.\n2\n.\nEND\n";
    ToolCall::new(id, "apply_patch", &json!({ "patch": patch }))
}

fn started(world: &World) -> usize {
    world.heard.iter().filter(|event| matches!(event, ToolEvent::Started { .. })).count()
}

fn results(world: &World) -> Vec<ToolResult> {
    world.sessions[0].results().unwrap().into_iter().cloned().collect()
}

/// T-APR-01, FR-APR-02, FR-APR-03, decision 5: a mixed batch asks before anything runs.
#[test]
fn a_mixed_batch_asks_first() {
    let mut world = world();
    let outside = ToolCall::new("4", "read_file", &json!({ "path": "../x/secret" }));
    world.sessions[0].submit(vec![read("1"), write("2", "n"), read("3"), outside]).unwrap();
    assert_eq!(world.run(0), Pause::NeedsApproval);
    assert_eq!(started(&world), 0, "nothing ran");
    assert!(!world.root.join("n").exists());
    let asked: Vec<_> =
        world.sessions[0].batch().pending().map(|request| request.tool_call_id.clone()).collect();
    assert_eq!(asked, ["2"], "only what needs a person");
    assert_eq!(world.run(0), Pause::NeedsApproval, "asking again changes nothing");
    world.sessions[0].decide(&ApprovalDecision::ApproveAll).unwrap();
    assert_eq!(world.run(0), Pause::Finished);
    let results = results(&world);
    assert_eq!(errors(&results), [None, None, None, Some("path_outside_sandbox")]);
    assert_eq!(started(&world), 3);
}

/// T-APR-02, APPR 202, FR-APR-03: only what was selected runs; strangers and repeats decide
/// nothing.
#[test]
fn selected_calls_run_and_the_others_do_not() {
    let mut world = world();
    let calls = vec![write("1", "a1"), write("2", "a2"), write("3", "a3"), read("4")];
    world.sessions[0].submit(calls).unwrap();
    assert_eq!(world.run(0), Pause::NeedsApproval);
    for stranger in ["4", "5", "", "1 "] {
        let decision = ApprovalDecision::ApproveSelected(vec!["1".into(), stranger.into()]);
        let outcome = world.sessions[0].decide(&decision);
        assert_eq!(outcome, Err(SessionError::NotWaiting(stranger.to_owned())));
        assert_eq!(world.run(0), Pause::NeedsApproval, "nothing was decided");
    }
    let decision = ApprovalDecision::ApproveSelected(vec!["2".into(), "2".into()]);
    world.sessions[0].decide(&decision).unwrap();
    assert_eq!(world.run(0), Pause::Finished);
    let denied = Some("denied_by_person");
    assert_eq!(errors(&results(&world)), [denied, None, denied, None]);
    let made = ["a1", "a2", "a3"].map(|name| world.root.join(name).exists());
    assert_eq!(made, [false, true, false]);
}

/// APPR 201, decision 28: an approval is for one call, once.
#[test]
fn an_approval_cannot_be_used_again() {
    let mut world = world();
    world.sessions[0].submit(vec![write("1", "first")]).unwrap();
    assert_eq!(world.run(0), Pause::NeedsApproval);
    world.sessions[0].decide(&ApprovalDecision::ApproveAll).unwrap();
    assert_eq!(world.run(0), Pause::Finished);
    world.sessions[0].submit(vec![write("1", "second")]).unwrap();
    assert_eq!(world.run(0), Pause::NeedsApproval, "the same id, another call");
    let stranger = ApprovalDecision::ApproveSelected(vec!["0".into()]);
    assert!(world.sessions[0].decide(&stranger).is_err());
    world.sessions[0].decide(&ApprovalDecision::DenyAll).unwrap();
    assert_eq!(world.run(0), Pause::Finished);
    assert!(!world.root.join("second").exists());
}

/// APPR 200, decision 28: what was shown has changed, so the approval does not count.
#[test]
fn an_approval_is_bound_to_what_was_shown() {
    let mut world = world();
    world.sessions[0].submit(vec![read("0")]).unwrap();
    assert_eq!(world.run(0), Pause::Finished);
    world.sessions[0].submit(vec![patch("1")]).unwrap();
    assert_eq!(world.run(0), Pause::NeedsApproval);
    world.sessions[0].decide(&ApprovalDecision::ApproveAll).unwrap();
    world.write("src/a.rs", "zero\none\ntwo\nthree\n");
    assert_ne!(world.run(0), Pause::NeedsResults);
    assert_eq!(world.file("src/a.rs"), b"zero\none\ntwo\nthree\n", "not what was approved");
    let mut world = self::world();
    world.sessions[0].submit(vec![write("1", "new")]).unwrap();
    assert_eq!(world.run(0), Pause::NeedsApproval);
    world.sessions[0].decide(&ApprovalDecision::ApproveAll).unwrap();
    world.write("new", "somebody else's\n");
    world.run(0);
    assert_eq!(world.file("new"), b"somebody else's\n");
}

/// APPR 191-194, 197, FR-APR-06: a summary is one harmless line of at most 200 characters.
#[test]
fn summaries_of_hostile_calls() {
    let long = format!("echo {} ; rm -rf ~", " ".repeat(5000));
    let commands = [
        "echo a\nrm -rf ~",
        "echo a\r\x1b[2Krm",
        "a\u{8}\u{8}b",
        "\u{202e}txt",
        "a\u{200b}b",
        &long,
        "\u{1b}]52;c;x\u{7}",
        "\t\t\tx",
        "a\u{2028}b",
    ];
    for command in commands {
        let mut world = world();
        let call = ToolCall::new("1", "run_command", &json!({ "command": command }));
        world.sessions[0].submit(vec![call]).unwrap();
        assert_eq!(world.run(0), Pause::NeedsApproval);
        let request = world.sessions[0].batch().pending().next().unwrap().clone();
        assert!(!request.summary.contains(['\n', '\r', '\t']), "{:?}", request.summary);
        assert!(jm_types::text::is_terminal_safe(&request.summary), "{:?}", request.summary);
        assert!(request.summary.chars().count() <= 200, "{:?}", request.summary);
        world.sessions[0].decide(&ApprovalDecision::DenyAll).unwrap();
    }
}
