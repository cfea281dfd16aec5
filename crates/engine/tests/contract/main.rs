//! The shapes that tools, registry, context and errors promise to whoever builds on them.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

mod direction;
mod schemas;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use jm_dialects::dialect_of;
use jm_engine::Core;
use jm_engine::{CallRecorder, Engine, Pause, Session};
use jm_files::{ProjectState, Sandbox, SandboxSettings};
use jm_policy::Policy;
use jm_process::EnvSanitizer;
use jm_store::{Journal, Owner};
use jm_tools::toolsets::Timeouts;
use jm_tools::{
    CallContext, Intent, Output, Prepared, Preview, ToolEffect, ToolExecutor, ToolFut,
    ToolRegistry, ToolSpec, Workspace,
};
use jm_types::{
    ApprovalMode, DenialReason, ErrorKind, Limits, RiskLevel, ToolCall, ToolError, ToolsMode,
    Toolset,
};
use serde_json::{Value, json};

fn tools_of(toolset: Toolset) -> Vec<Box<dyn ToolExecutor>> {
    let seconds = Duration::from_secs;
    let timeouts = Timeouts { file_operations: seconds(30), shell_commands: seconds(300) };
    dialect_of(toolset).tools(&timeouts)
}

fn forge_tools() -> Vec<Box<dyn ToolExecutor>> {
    tools_of(Toolset::Forge)
}

fn engine(tools: Vec<Box<dyn ToolExecutor>>) -> (Engine, tempfile::TempDir) {
    engine_with(tools, |_| CallRecorder::none())
}

/// The same, with whoever records in that directory.
fn engine_with(
    tools: Vec<Box<dyn ToolExecutor>>,
    recorder: impl FnOnce(&Path) -> CallRecorder,
) -> (Engine, tempfile::TempDir) {
    let scratch = tempfile::tempdir().unwrap();
    let sandbox = Sandbox::new(&SandboxSettings::rooted_at(scratch.path())).unwrap();
    let engine = Engine::new(Core {
        registry: ToolRegistry::new(tools).unwrap(),
        workspace: Workspace {
            sandbox: Arc::new(sandbox),
            environment: Arc::new(EnvSanitizer::new(&[])),
            confiner: Arc::new(jm_process::Confiner::unsupervised()),
            jobs: Arc::default(),
            state: Arc::new(ProjectState::new(scratch.path(), scratch.path())),
        },
        policy: Policy::of_mode(ApprovalMode::Auto).into(),
        limits: Limits::default(),
        mode: ToolsMode::Enabled,
        default_timeout: Duration::from_secs(7),
        manual: Vec::new(),
        estimate: Default::default(),
        events: tokio::sync::mpsc::channel(16).0,
        recorder: recorder(scratch.path()),
        layers: jm_engine::EngineLayers::none(),
        index: Mutex::default(),
    });
    (engine, scratch)
}

/// C-01, FR-REG-01: every accessor of the requirements, through a boxed trait object.
#[test]
fn tools_say_what_they_are() {
    let expected = [
        ("apply_patch", true, false, RiskLevel::Medium, 30),
        ("list_directory", false, false, RiskLevel::Low, 30),
        ("read_file", false, false, RiskLevel::Low, 30),
        ("run_command", true, true, RiskLevel::High, 300),
        ("write_file", true, false, RiskLevel::Medium, 30),
    ];
    let tools = forge_tools();
    let said: Vec<_> = tools
        .iter()
        .map(|tool| {
            assert!(!tool.description().is_empty());
            assert_eq!(tool.schema()["type"], "object");
            let seconds = tool.timeout().unwrap().as_secs();
            let person = tool.requires_approval();
            (tool.name(), tool.is_side_effecting(), person, tool.risk_level(), seconds)
        })
        .collect();
    assert_eq!(said, expected);
}

/// FR-REG-01a, FR-APR-01, FR-APR-06: summaries come from the arguments alone; there is no workspace
/// that they could look at.
#[test]
fn summaries_need_no_disk() {
    let patch = "LP1\nF a b\nEND\n".replace("a b", "\"a b\"");
    let cases = [
        ("read_file", json!({"path": "nowhere"}), "Read nowhere"),
        ("read_file", json!({"path": "n", "start_line": 2, "end_line": 3}), "Read n lines 2-3"),
        ("apply_patch", json!({"patch": patch}), "Apply patch to 1 file(s): a b"),
        ("run_command", json!({"command": "make"}), "Run command: make"),
        ("list_directory", json!({"path": "d", "recursive": true}), "List d depth 4"),
        ("write_file", json!({"path": "f", "content": "xy"}), "Create f (2 bytes)"),
    ];
    let registry = ToolRegistry::new(forge_tools()).unwrap();
    for (tool, args, expected) in cases {
        let tool = registry.lookup(tool).unwrap();
        assert_eq!(tool.approval_summary(args, &Limits::default()).unwrap(), expected);
    }
}

/// Id, time left, output limit, capacity, whether it may be cut, directory: of each call.
type Given = Arc<Mutex<Vec<(String, Duration, usize, usize, bool, PathBuf)>>>;

/// Counts how often it is asked for its schema, and keeps what its calls were given.
struct Witness {
    spec: ToolSpec,
    schema: Value,
    schemas: Arc<AtomicUsize>,
    given: Given,
}

impl Witness {
    fn new(name: &str) -> Self {
        let spec = ToolSpec {
            name: name.to_owned(),
            description: "for tests".to_owned(),
            effect: ToolEffect::Reads,
            risk: RiskLevel::Low,
            needs_person: false,
            timeout: None,
        };
        // Not so plain that no validator is needed.
        let schema = json!({"type": "object", "minProperties": 0});
        Self { spec, schema, schemas: Arc::default(), given: Arc::default() }
    }
}

#[derive(Debug)]
struct Call(Given);

impl ToolExecutor for Witness {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn schema(&self) -> &Value {
        self.schemas.fetch_add(1, Ordering::Relaxed);
        &self.schema
    }

    fn prepare(&self, _: Value, _: &Limits) -> Result<Box<dyn Prepared>, ToolError> {
        Ok(Box::new(Call(Arc::clone(&self.given))))
    }
}

impl Prepared for Call {
    fn intent(&self) -> Intent {
        Intent {
            summary: String::new(),
            effect: ToolEffect::Reads,
            risk: RiskLevel::Low,
            needs_person: false,
            paths: Vec::new(),
            stands_for: None,
            command: None,
            publishes: Vec::new(),
            pinned: None,
        }
    }

    fn preview(&self, _: &CallContext) -> Result<Option<Preview>, ToolError> {
        Ok(None)
    }

    fn execute<'a>(self: Box<Self>, ctx: &'a mut CallContext) -> ToolFut<'a> {
        Box::pin(async move {
            let left = ctx.deadline.saturating_duration_since(Instant::now());
            self.0.lock().unwrap().push((
                ctx.tool_call_id.clone(),
                left,
                ctx.limits.output_bytes,
                ctx.capacity,
                ctx.allow_truncation,
                ctx.workspace.sandbox.working_root().path().to_owned(),
            ));
            // What one call does to its context the next one must not see.
            ctx.allow_truncation = false;
            ctx.output_limit = 0;
            ctx.cancel.cancel();
            Ok(Output::Text(String::new()))
        })
    }
}

/// The sandbox and the sanitiser of each call.
type Parts = Arc<Mutex<Vec<(Arc<Sandbox>, Arc<EnvSanitizer>)>>>;

/// Keeps what its calls were given.
struct Shared {
    spec: ToolSpec,
    schema: Value,
    given: Parts,
}

#[derive(Debug)]
struct SharedCall(Parts);

impl ToolExecutor for Shared {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn schema(&self) -> &Value {
        &self.schema
    }

    fn prepare(&self, _: Value, _: &Limits) -> Result<Box<dyn Prepared>, ToolError> {
        Ok(Box::new(SharedCall(Arc::clone(&self.given))))
    }
}

impl Prepared for SharedCall {
    fn intent(&self) -> Intent {
        Call(Arc::default()).intent()
    }

    fn preview(&self, _: &CallContext) -> Result<Option<Preview>, ToolError> {
        Ok(None)
    }

    fn execute<'a>(self: Box<Self>, ctx: &'a mut CallContext) -> ToolFut<'a> {
        Box::pin(async move {
            let Workspace { sandbox, environment, .. } = &ctx.workspace;
            self.0.lock().unwrap().push((Arc::clone(sandbox), Arc::clone(environment)));
            Ok(Output::Text(String::new()))
        })
    }
}

/// FR-REG-05: the calls of a batch share one sandbox, one sanitiser and one journal.
#[test]
fn the_calls_of_a_batch_share_sandbox_sanitiser_and_journal() {
    let given = Parts::default();
    let Witness { spec, schema, .. } = Witness::new("shared");
    let tool = Shared { spec, schema, given: Arc::clone(&given) };
    let state = tempfile::tempdir().unwrap();
    let owner = Owner { pid: 1, started: 1, boot: String::new() };
    let path = state.path().join("journal.db");
    let journal = Journal::open(&path, &"s".into(), state.path(), &owner, &|_| true, || 1).unwrap();
    let recorder = CallRecorder::new(journal, owner, "person", None);
    let (engine, _scratch) = engine_with(vec![Box::new(tool)], |_| recorder);
    let mut session = Session::new("s");
    let calls = ["a", "b"].map(|id| ToolCall::new(id, "shared", &json!({})));
    session.submit(calls.to_vec()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    assert_eq!(runtime.block_on(engine.run(&mut session)), Pause::Finished);
    let ours = &engine.core().workspace;
    let given = given.lock().unwrap();
    assert_eq!(given.len(), 2);
    for (sandbox, environment) in given.iter() {
        assert!(Arc::ptr_eq(sandbox, &ours.sandbox) && Arc::ptr_eq(environment, &ours.environment));
    }
    let recorded = engine.core().recorder.journal().unwrap().store().calls(&"s".into()).unwrap();
    let results: Vec<bool> = recorded.iter().map(|call| call.result().is_some()).collect();
    assert_eq!(results, [true, true]);
}

/// FR-REG-04, FR-REG-04a, C-03: each call gets a fresh context with the shared settings,
/// under either kind of tokio runtime.
#[test]
fn every_call_has_its_own_context() {
    let runtimes = [
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap(),
        tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap(),
    ];
    for runtime in runtimes {
        let witness = Witness::new("witness");
        let given = Arc::clone(&witness.given);
        let (engine, scratch) = engine(vec![Box::new(witness)]);
        let mut session = Session::new("s");
        let calls = ["a", "b"].map(|id| ToolCall::new(id, "witness", &json!({})));
        session.submit(calls.to_vec()).unwrap();
        assert_eq!(runtime.block_on(engine.run(&mut session)), Pause::Finished);
        let root = scratch.path().canonicalize().unwrap();
        let given = given.lock().unwrap();
        for ((id, left, output, capacity, cuts, place), expected) in given.iter().zip(["a", "b"]) {
            assert_eq!(id, expected);
            assert!(*left > Duration::from_secs(5) && *left <= Duration::from_secs(7));
            assert_eq!((*output, *capacity, *cuts), (100 * 1024, 64 * 1024, true));
            assert_eq!(*place, root);
        }
        assert_eq!(given.len(), 2);
    }
}

/// FR-EXE-03, CFG-TMO-01: a command has all of its time for itself, however long the look at the workspace
/// before it takes.
#[test]
fn the_time_of_a_command_begins_with_the_command() {
    let time = Duration::from_millis(40);
    let mut witness = Witness::new("witness");
    witness.spec.effect = ToolEffect::Runs;
    witness.spec.timeout = Some(time);
    let given = Arc::clone(&witness.given);
    let (engine, scratch) = engine_with(vec![Box::new(witness)], |folder| {
        let owner = Owner { pid: 1, started: 1, boot: String::new() };
        let path = folder.join(".jm-journal.db");
        let journal = Journal::open(&path, &"s".into(), folder, &owner, &|_| false, || 1).unwrap();
        CallRecorder::new(journal, owner, "nobody", None)
    });
    for number in 0..1_500 {
        std::fs::write(scratch.path().join(format!("f{number}")), number.to_string()).unwrap();
    }
    let mut session = Session::new("s");
    session.submit(vec![ToolCall::new("a", "witness", &json!({}))]).unwrap();
    let began = Instant::now();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    assert_eq!(runtime.block_on(engine.run(&mut session)), Pause::Finished);
    assert!(began.elapsed() > time, "the look is too short to tell anything");
    assert!(given.lock().unwrap()[0].1 > time / 2, "{:?} were left", given.lock().unwrap()[0].1);
}

/// The reads of a conversation are shared with each call, and not copied for it: a long one would be slower with
/// every file.
#[test]
fn what_was_read_is_not_copied_for_each_call() {
    let (engine, scratch) = engine(forge_tools());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut session = Session::new("s");
    let before = Arc::as_ptr(session.freshness());
    for name in ["a", "b"] {
        std::fs::write(scratch.path().join(name), name).unwrap();
        session.submit(vec![ToolCall::new(name, "read_file", &json!({"path": name}))]).unwrap();
        assert_eq!(runtime.block_on(engine.run(&mut session)), Pause::Finished);
    }
    let root = scratch.path().canonicalize().unwrap();
    assert!(["a", "b"].iter().all(|name| session.freshness().get(&root.join(name)).is_some()));
    assert_eq!(Arc::as_ptr(session.freshness()), before);
}

/// NFR-PERF-01, NFR-PERF-03, NFR-MAIN-03: found by hash among many, compiled once, listed by name.
#[test]
fn a_registry_of_thousands() {
    let witness = Witness::new("tool_0500");
    let schemas = Arc::clone(&witness.schemas);
    let mut registry = ToolRegistry::new([Box::new(witness) as Box<dyn ToolExecutor>]).unwrap();
    for number in (0..2_000).rev().filter(|number| *number != 500) {
        registry.register(Box::new(Witness::new(&format!("tool_{number:04}")))).unwrap();
    }
    schemas.store(0, Ordering::Relaxed);
    for _ in 0..100 {
        registry.lookup("tool_0500").unwrap().validate(&json!({})).unwrap();
    }
    // Once to see that it is not plain, once to be compiled.
    assert_eq!(schemas.load(Ordering::Relaxed), 2);
    let again = registry.register(Box::new(Witness::new("tool_0007"))).unwrap_err();
    assert_eq!(again.name(), "duplicate_tool");
    let names: Vec<String> = registry.definitions().into_iter().map(|tool| tool.name).collect();
    assert!(names.is_sorted() && names.len() == 2_000);
}

/// NFR-ERR-01, NFR-ERR-02: every kind has a name for programs and words for people.
#[test]
fn errors_have_names_and_words() {
    let file = || PathBuf::from("f");
    let denied = |reason: DenialReason| ToolError::from(reason);
    let kind = ToolError::new;
    let tool = || "t".to_owned();
    let message = || "m".to_owned();
    let cases = [
        (ToolError::bad_args("m"), "bad_args", "bad arguments: m"),
        (
            kind(ErrorKind::Timeout { tool: tool(), elapsed: Duration::from_millis(1500) }),
            "timeout",
            "t timed out after 1.5 s",
        ),
        (ToolError::failed("t", "m"), "execution_failed", "m"),
        (ToolError::cancelled(), "cancelled", "Cancelled by user"),
        (
            kind(ErrorKind::NotReady { tool: tool(), message: "slow".to_owned() }),
            "tool_not_ready",
            "tool t is not ready: slow",
        ),
        (kind(ErrorKind::UnknownTool { name: tool() }), "unknown_tool", "unknown tool: t"),
        (
            kind(ErrorKind::DuplicateTool { name: tool() }),
            "duplicate_tool",
            "a tool named t is already registered",
        ),
        (
            kind(ErrorKind::DuplicateToolCallId { id: tool() }),
            "duplicate_tool_call_id",
            "duplicate tool call id in one batch: t",
        ),
        (
            kind(ErrorKind::PatchFailed { file: file(), message: message() }),
            "patch_failed",
            "patch failed for f: m",
        ),
        (
            kind(ErrorKind::StaleFile { file: file(), reason: message() }),
            "stale_file",
            "stale file f: m",
        ),
        (
            denied(DenialReason::Denylisted { tool: tool() }),
            "denylisted",
            "tool t is denied by policy",
        ),
        (denied(DenialReason::Disabled), "disabled", "Tool execution disabled by policy"),
        (ToolError::outside("f"), "path_outside_sandbox", "path is outside the workspace: f"),
        (
            denied(DenialReason::DeniedPatternMatched { attempted: file(), pattern: message() }),
            "denied_pattern_matched",
            "path is denied by the pattern m: f",
        ),
        (ToolError::limit("m"), "limits_exceeded", "m"),
    ];
    for (error, name, words) in cases {
        assert_eq!((error.name(), error.to_string().as_str()), (name, words));
    }
}
