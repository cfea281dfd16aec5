//! Properties that the rest of the program relies on and no client sees.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jm_files::{ProjectState, Sandbox, SandboxSettings};
use jm_process::EnvSanitizer;
use jm_types::Limits;
use serde_json::json;

use super::*;
use crate::context::CallContext;
use crate::registry::ToolRegistry;
use jm_types::ToolEffect;

const GOOD: &str = "#!/bin/sh\necho '{\"name\":\"n\",\"description\":\"d\",\"parameters\":{\"type\":\"object\"}}'\n";

/// By another process: a file that a thread of ours has open for writing cannot be run by another.
fn put(folder: &Path, name: &str, text: &str) {
    let script = "printf %s \"$1\" > \"$0\" && chmod 755 \"$0\"";
    let mut shell = std::process::Command::new("/bin/sh");
    let done = shell.args(["-c", script]).arg(folder.join(name)).arg(text).status().unwrap();
    assert!(done.success());
}

fn workspace(root: &Path) -> Workspace {
    let sandbox = Sandbox::new(&SandboxSettings::rooted_at(root)).unwrap();
    let state = ProjectState::new(root, root);
    Workspace {
        sandbox: Arc::new(sandbox),
        environment: Arc::new(EnvSanitizer::new(&[])),
        confiner: Arc::new(jm_process::Confiner::unsupervised()),
        jobs: Arc::default(),
        state: Arc::new(state),
    }
}

fn tools(root: &Path, read_only: &[&str]) -> ExternalTools {
    let directory =
        Directory { place: ToolPlace::User, path: root.to_owned(), consent: Consent::Owner };
    ExternalTools::new(
        vec![directory],
        Ground {
            workspace: workspace(root),
            patience: Duration::from_secs(60),
            memory: || None,
            read_only: read_only.iter().map(|name| (*name).to_owned()).collect(),
        },
    )
}

fn scope(root: &Path) -> CallContext {
    let deadline = Instant::now() + Duration::from_secs(60);
    CallContext {
        output_limit: 1024,
        capacity: 1024,
        session_id: "s".into(),
        tool_name: "good".to_owned(),
        ..CallContext::without_call(workspace(root), Limits::default(), deadline)
    }
}

/// IK-DIRS: a source's faults are errors of the call that wanted the tool, not of the registry.
#[test]
fn a_registry_finds_what_a_source_has_and_says_what_is_wrong_with_the_rest() {
    let scratch = tempfile::tempdir().unwrap();
    put(scratch.path(), "good", GOOD);
    put(scratch.path(), "bad", "#!/bin/sh\nexit 1\n");
    let mut registry = ToolRegistry::new([]).unwrap();
    registry.add_source(Box::new(tools(scratch.path(), &[])));
    assert_eq!(registry.names(), ["bad", "good"]);
    assert_eq!(registry.lookup("good").unwrap().description(), "d");
    assert_eq!(registry.lookup("bad").err().unwrap().name(), "tool_not_ready");
    assert_eq!(registry.lookup("goood").err().unwrap().name(), "unknown_tool");
    let names: Vec<_> = registry.definitions().into_iter().map(|tool| tool.name).collect();
    assert_eq!(names, ["good"]);
}

/// FR-APR-03: an approval is bound to the program's bytes.
#[test]
fn a_preview_is_of_the_program_as_it_is() {
    let scratch = tempfile::tempdir().unwrap();
    put(scratch.path(), "good", GOOD);
    let source = tools(scratch.path(), &[]);
    let tool = source.find("good").unwrap().unwrap();
    let prepared = tool.prepare(json!({"a": 1}), &Limits::default()).unwrap();
    let files = |prepared: &dyn crate::tool::Prepared| {
        prepared.preview(&scope(scratch.path())).unwrap().unwrap().files
    };
    let path = scratch.path().join("good");
    assert_eq!(files(&*prepared), [(path.clone(), Some(Digest::of(GOOD.as_bytes())))]);
    put(scratch.path(), "good", "#!/bin/sh\n");
    assert_eq!(files(&*prepared), [(path.clone(), Some(Digest::of(b"#!/bin/sh\n")))]);
    std::fs::remove_file(path).unwrap();
    assert_eq!(prepared.preview(&scope(scratch.path())).unwrap_err().name(), "tool_not_ready");
}

/// The person's word changes what is asked, not what is tracked.
#[test]
fn a_tool_that_is_said_to_read_is_still_run_as_a_command() {
    let scratch = tempfile::tempdir().unwrap();
    put(scratch.path(), "good", GOOD);
    for (read_only, asked_as) in [(&[][..], ToolEffect::Runs), (&["good"][..], ToolEffect::Reads)] {
        let source = tools(scratch.path(), read_only);
        let tool = source.find("good").unwrap().unwrap();
        let intent = tool.prepare(json!({}), &Limits::default()).unwrap().intent();
        assert_eq!((tool.spec().effect, intent.effect), (ToolEffect::Runs, asked_as));
    }
}

#[test]
fn a_long_summary_shows_both_ends() {
    let scratch = tempfile::tempdir().unwrap();
    put(scratch.path(), "good", GOOD);
    let source = tools(scratch.path(), &[]);
    let tool = source.find("good").unwrap().unwrap();
    let args = json!({"first": 1, "text": "é".repeat(1_000_000), "last": 2});
    let summary = tool.prepare(args, &Limits::default()).unwrap().intent().summary;
    assert!(summary.len() < 5_000, "{}", summary.len());
    assert!(summary.contains("\"first\":1") && summary.ends_with("\"last\":2}"));
}
