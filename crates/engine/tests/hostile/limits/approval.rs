//! T-APR, APPR: a person decides once, on what was shown.

use jm_engine::{ApprovalDecision, Pause, SessionError};
use jm_types::{AnsweredCall, ApprovalAnswer, ApprovalChoice};
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
        world.sessions[0].batch().pending().map(|request| request.id.clone()).collect();
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

fn patch_of(id: &str, old: &str, new: &str) -> ToolCall {
    let patch = format!("LP1\nF src/a.rs\nR\n{old}\n.\n{new}\n.\nEND\n");
    ToolCall::new(id, "apply_patch", &json!({ "patch": patch }))
}

/// A read of a file that was not read before, and two patches of it, the second on the first.
fn building() -> Vec<ToolCall> {
    vec![read("1"), patch_of("2", "two", "2"), patch_of("3", "2", "zwei")]
}

/// T-APR-01, FR-APR-03: calls that build on each other are shown on what the earlier ones leave, and one
/// answer is enough.
#[test]
fn one_answer_is_for_calls_that_build_on_each_other() {
    let mut world = world();
    world.sessions[0].submit(building()).unwrap();
    assert_eq!(world.run(0), Pause::NeedsApproval);
    let shown: Vec<String> = world.sessions[0]
        .batch()
        .pending()
        .map(|request| request.preview.clone().unwrap_or_default())
        .collect();
    assert_eq!(shown.len(), 2);
    assert!(shown[0].contains("-two\n+2\n"), "{}", shown[0]);
    assert!(shown[1].contains("-2\n+zwei\n"), "{}", shown[1]);
    assert_eq!(started(&world), 0, "nothing ran");
    world.sessions[0].decide(&ApprovalDecision::ApproveAll).unwrap();
    assert_eq!(world.run(0), Pause::Finished);
    assert_eq!(errors(&results(&world)), [None, None, None]);
    assert!(String::from_utf8(world.file("src/a.rs")).unwrap().contains("zwei"));
}

/// T-APR-02: what was shown on the ground of a call that was not approved does not count.
#[test]
fn a_call_whose_ground_is_missing_is_not_run_as_it_was_shown() {
    let mut world = world();
    let before = world.file("src/a.rs");
    world.sessions[0].submit(building()).unwrap();
    assert_eq!(world.run(0), Pause::NeedsApproval);
    world.sessions[0].decide(&ApprovalDecision::ApproveSelected(vec!["3".into()])).unwrap();
    assert_eq!(world.run(0), Pause::Finished);
    assert_eq!(errors(&results(&world)), [None, Some("denied_by_person"), Some("patch_failed")]);
    assert_eq!(world.file("src/a.rs"), before);
}

/// Arguments that a person wrote are planned like the model's: what builds on them is shown anew, nothing is
/// approved meanwhile, and the model learns of it.
#[test]
fn an_edit_asks_anew_about_all_that_waits() {
    let mut world = world();
    world.sessions[0].submit(building()).unwrap();
    assert_eq!(world.run(0), Pause::NeedsApproval);
    let arguments = patch_of("2", "two", "deux").arguments;
    let edit = AnsweredCall::new("2", ApprovalChoice::Edit { arguments });
    world.sessions[0].answer(&ApprovalAnswer { calls: vec![edit] }).unwrap();
    assert_eq!(world.run(0), Pause::NeedsApproval);
    assert_eq!(started(&world), 0, "nothing ran");
    let question = world.sessions[0].question().unwrap();
    let shown: Vec<_> =
        question.calls.iter().map(|call| call.preview.clone().unwrap_or_default()).collect();
    assert!(shown[0].contains("-two\n+deux\n"), "{}", shown[0]);
    assert_eq!(shown[1], "", "what it was to change will not be there");
    world.sessions[0].decide(&ApprovalDecision::ApproveSelected(vec!["2".into()])).unwrap();
    assert_eq!(world.run(0), Pause::Finished);
    let results = results(&world);
    assert_eq!(errors(&results), [None, None, Some("denied_by_person")]);
    assert!(results[1].content.starts_with("The user changed the arguments of this call to: "));
    assert!(String::from_utf8(world.file("src/a.rs")).unwrap().contains("deux"));
}

/// A new file and its patch, and a second file of the same name: what will be there counts as there.
#[test]
fn a_file_that_the_batch_creates_is_there_for_what_follows() {
    let mut world = world();
    let create = |id: &str, content: &str| {
        ToolCall::new(id, "write_file", &json!({ "path": "new", "content": content }))
    };
    let patch = json!({ "patch": "LP1\nF new\nR\none\n.\nuno\n.\nEND\n" });
    let patch = ToolCall::new("2", "apply_patch", &patch);
    world.sessions[0].submit(vec![create("1", "one\n"), patch, create("3", "x")]).unwrap();
    assert_eq!(world.run(0), Pause::NeedsApproval);
    let shown: Vec<Option<String>> =
        world.sessions[0].batch().pending().map(|request| request.preview.clone()).collect();
    assert!(shown[1].as_ref().is_some_and(|diff| diff.contains("-one\n+uno\n")), "{shown:?}");
    assert_eq!(shown[2], None, "it will be refused");
    world.sessions[0].decide(&ApprovalDecision::ApproveAll).unwrap();
    assert_eq!(world.run(0), Pause::Finished);
    assert_eq!(world.file("new"), b"uno\n");
    let results = results(&world);
    let failed: Vec<bool> = errors(&results).iter().map(Option::is_some).collect();
    assert_eq!(failed, [false, false, true]);
}

/// Decision 28: what was foreseen and did not come to pass is asked about again.
#[test]
fn a_foreseen_change_that_comes_otherwise_is_asked_about_again() {
    let mut world = world();
    world.sessions[0].submit(vec![read("0")]).unwrap();
    assert_eq!(world.run(0), Pause::Finished);
    let command = json!({ "command": "true" });
    let calls = vec![
        patch_of("1", "two", "2"),
        ToolCall::new("2", "run_command", &command),
        patch_of("3", "three", "drei"),
    ];
    world.sessions[0].submit(calls).unwrap();
    assert_eq!(world.run(0), Pause::NeedsApproval);
    world.sessions[0].decide(&ApprovalDecision::ApproveAll).unwrap();
    assert_eq!(world.run(0), Pause::NeedsApproval, "a command may have changed anything");
    let asked: Vec<String> =
        world.sessions[0].batch().pending().map(|one| one.id.clone()).collect();
    assert_eq!(asked, ["3"]);
    world.sessions[0].decide(&ApprovalDecision::ApproveAll).unwrap();
    assert_eq!(world.run(0), Pause::Finished);
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
