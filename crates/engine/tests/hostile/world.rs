//! A workspace, what lies around it, and an engine that works in it.
//!
//! Law: every call made through a world is followed by the checks that hold for any call: I1 the
//! outside is as it was, I2 the canary shows nowhere, I3 one result a call in order, I5 nothing of
//! ours is left open or lying about, I6 what is shown is harmless, I7 it ended in time, I9 a
//! refusal changed nothing, and no result is larger than the limit. I10 is every case that
//! succeeds.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jm_dialects::dialect_of;
use jm_engine::Core;
use jm_engine::{ApprovalDecision, Engine, Pause, Session};
use jm_files::{Opening, PathPolicy, ProjectState, Sandbox, SandboxSettings};
use jm_policy::Policy;
use jm_process::EnvSanitizer;
use jm_tools::toolsets::Timeouts;
use jm_tools::{CallContext, ToolExecutor, ToolRegistry, Workspace};
use jm_types::Freshness;
use jm_types::text::is_terminal_safe;
use jm_types::{
    ApprovalMode, Limits, ToolCall, ToolDefinition, ToolEvent, ToolResult, ToolsMode, Toolset,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::mpsc;

use crate::tree::{Tree, difference, leftovers, tree, unlinked};

pub(crate) const OPENINGS: [Opening; 2] = [Opening::Kernel, Opening::Walk];

/// Any ordinary call, on a machine that others use too.
/// Less than any time-out here, more than a loaded machine takes.
pub(crate) const NOT_HANGING: Duration = Duration::from_secs(15);

const IN_TIME: Duration = Duration::from_secs(60);

pub(crate) struct Setting {
    pub(crate) opening: Opening,
    pub(crate) toolset: Toolset,
    pub(crate) paths: PathPolicy,
    pub(crate) limits: Limits,
    pub(crate) policy: Policy,
    pub(crate) mode: ToolsMode,
    pub(crate) timeouts: Timeouts,
    pub(crate) tools: Vec<Box<dyn ToolExecutor>>,
    pub(crate) manual: Vec<ToolDefinition>,
    pub(crate) events: usize,
    /// The directory in which the temporary directory is made.
    pub(crate) disk: PathBuf,
    pub(crate) time: Duration,
}

impl Setting {
    pub(crate) fn new(opening: Opening) -> Self {
        let timeout = Duration::from_secs(30);
        Self {
            opening,
            toolset: Toolset::Forge,
            paths: PathPolicy::FORGE,
            limits: Limits::default(),
            policy: policy(ApprovalMode::Auto),
            mode: ToolsMode::Enabled,
            timeouts: Timeouts { file_operations: timeout, shell_commands: timeout },
            tools: Vec::new(),
            manual: Vec::new(),
            events: 256,
            disk: std::env::temp_dir(),
            time: IN_TIME,
        }
    }
}

/// Nothing on any list.
pub(crate) fn policy(mode: ApprovalMode) -> Policy {
    Policy::of_mode(mode)
}

pub(crate) struct World {
    _home: TempDir,
    /// Our own state, which is neither inside nor outside.
    _state: TempDir,
    pub(crate) base: PathBuf,
    /// W, the workspace.
    pub(crate) root: PathBuf,
    /// X, outside, with `secret` and `victim`.
    pub(crate) outside: PathBuf,
    /// W2, whose name begins with W's.
    pub(crate) sibling: PathBuf,
    pub(crate) canary: String,
    pub(crate) engine: Engine,
    pub(crate) workspace: Workspace,
    pub(crate) sessions: Vec<Session>,
    pub(crate) heard: Vec<ToolEvent>,
    pub(crate) hearing: Hearing,
    /// The case breaks hard links, so counts may change outside.
    pub(crate) breaks_links: bool,
    events: mpsc::Receiver<ToolEvent>,
    runtime: tokio::runtime::Runtime,
    limits: Limits,
    time: Duration,
}

/// How the face listens.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Hearing {
    All,
    Slowly(Duration),
    /// For floods, which nobody should keep.
    AndForgetting,
}

/// The state before a call.
pub(crate) struct Moment {
    outside: Tree,
    inside: Tree,
    open: Vec<PathBuf>,
    began: Instant,
}

impl World {
    pub(crate) fn new(opening: Opening) -> Self {
        Self::with(Setting::new(opening))
    }

    pub(crate) fn with(setting: Setting) -> Self {
        let home = tempfile::Builder::new().prefix("hostile-").tempdir_in(&setting.disk).unwrap();
        let base = home.path().canonicalize().unwrap();
        let [root, outside, sibling] = ["w", "x", "w2"].map(|name| base.join(name));
        let state = tempfile::tempdir_in(&setting.disk).unwrap();
        let canary = canary();
        furnish(&root, &outside, &sibling, &canary);
        let sandbox = sandbox(&root, setting.opening, setting.paths);
        let workspace = Workspace {
            sandbox: Arc::new(sandbox),
            environment: Arc::new(EnvSanitizer::new(&[])),
            confiner: Arc::new(jm_process::Confiner::unsupervised()),
            jobs: Arc::default(),
            state: Arc::new(ProjectState::new(state.path(), &root)),
        };
        let (sender, events) = mpsc::channel(setting.events);
        let tools =
            dialect_of(setting.toolset).tools(&setting.timeouts).into_iter().chain(setting.tools);
        let engine = Engine::new(Core {
            registry: ToolRegistry::new(tools).unwrap(),
            workspace: workspace.clone(),
            policy: setting.policy.into(),
            limits: setting.limits.clone(),
            mode: setting.mode,
            default_timeout: setting.timeouts.file_operations,
            manual: setting.manual,
            estimate: Default::default(),
            events: sender,
            recorder: jm_engine::CallRecorder::none(),
            layers: jm_engine::EngineLayers::none(),
            index: Default::default(),
        });
        Self {
            _home: home,
            _state: state,
            base,
            root,
            outside,
            sibling,
            canary,
            engine,
            workspace,
            sessions: vec![Session::new("one"), Session::new("two")],
            heard: Vec::new(),
            hearing: Hearing::All,
            breaks_links: false,
            events,
            runtime: runtime(),
            limits: setting.limits,
            time: setting.time,
        }
    }

    /// `{W}`, `{X}` and `{W2}` become absolute paths.
    pub(crate) fn fill(&self, text: &str) -> String {
        let show = |path: &Path| path.to_str().unwrap().to_owned();
        text.replace("{W2}", &show(&self.sibling))
            .replace("{W}", &show(&self.root))
            .replace("{X}", &show(&self.outside))
    }

    pub(crate) fn call(&mut self, tool: &str, args: Value) -> ToolResult {
        self.call_as(0, tool, args)
    }

    pub(crate) fn call_as(&mut self, session: usize, tool: &str, args: Value) -> ToolResult {
        self.batch_as(session, vec![ToolCall::new("c1", tool, &args)]).remove(0)
    }

    pub(crate) fn read(&mut self, path: &str) -> ToolResult {
        self.call("read_file", json!({ "path": path }))
    }

    pub(crate) fn patch(&mut self, patch: &str) -> ToolResult {
        self.call("apply_patch", json!({ "patch": patch }))
    }

    pub(crate) fn batch(&mut self, calls: Vec<ToolCall>) -> Vec<ToolResult> {
        self.batch_as(0, calls)
    }

    /// Runs the calls, approves whatever is asked, and checks what holds for any call.
    pub(crate) fn batch_as(&mut self, session: usize, calls: Vec<ToolCall>) -> Vec<ToolResult> {
        let moment = self.moment();
        self.sessions[session].begin_turn();
        self.sessions[session].submit(calls.clone()).unwrap();
        while self.run(session) == Pause::NeedsApproval {
            self.sessions[session].decide(&ApprovalDecision::ApproveAll).unwrap();
        }
        let results: Vec<ToolResult> =
            self.sessions[session].results().expect("I3").into_iter().cloned().collect();
        self.check(&moment, &calls, &results);
        results
    }

    /// One step of the engine; events are heard meanwhile.
    pub(crate) fn run(&mut self, session: usize) -> Pause {
        let Self { runtime, engine, sessions, events, heard, hearing, .. } = self;
        let listen = async {
            while let Some(event) = events.recv().await {
                check_event(&event);
                match hearing {
                    Hearing::All => heard.push(event),
                    Hearing::Slowly(pause) => {
                        heard.push(event);
                        tokio::time::sleep(*pause).await;
                    }
                    Hearing::AndForgetting => {}
                }
            }
        };
        let pause = runtime.block_on(async {
            tokio::select! {
                biased;
                pause = engine.run(&mut sessions[session]) => pause,
                () = listen => unreachable!("the engine holds the other end"),
            }
        });
        while let Ok(event) = self.events.try_recv() {
            self.heard.push(event);
        }
        pause
    }

    pub(crate) fn runtime(&self) -> &tokio::runtime::Runtime {
        &self.runtime
    }

    pub(crate) fn moment(&self) -> Moment {
        Moment {
            outside: self.around(),
            inside: tree(&self.root, None),
            open: self.open_files(),
            began: Instant::now(),
        }
    }

    fn around(&self) -> Tree {
        let around = tree(&self.base, Some(&self.root));
        if self.breaks_links { unlinked(around) } else { around }
    }

    pub(crate) fn check(&self, before: &Moment, calls: &[ToolCall], results: &[ToolResult]) {
        let took = before.began.elapsed();
        self.check_outside(before);
        let answered: Vec<_> = results.iter().map(|result| &result.call_id).collect();
        let asked: Vec<_> = calls.iter().map(|call| &call.id).collect();
        assert!(answered == asked || asked.iter().any(|id| id.is_empty()), "I3 {answered:?}");
        for result in results {
            self.check_result(result);
        }
        for event in &self.heard {
            let told = serde_json::to_string(event).unwrap();
            assert!(!told.contains(&self.canary), "I2 {told}");
            check_event(event);
        }
        assert!(took < self.time, "I7: {took:?}");
        let now = tree(&self.root, None);
        assert_eq!(leftovers(&now), Vec::<&PathBuf>::new(), "I5");
        let refused = results.iter().all(ToolResult::is_error);
        let may_act = calls.iter().any(|call| call.name == "run_command");
        if refused && !may_act {
            let changed = difference(&before.inside, &now);
            assert_eq!(changed, "", "I9: {results:?}");
        }
    }

    /// I1 and I5, for cases that work below the engine.
    pub(crate) fn check_outside(&self, before: &Moment) {
        let changed = difference(&before.outside, &self.around());
        assert_eq!(changed, "", "I1");
        assert_eq!(self.open_files(), before.open, "I5");
    }

    fn check_result(&self, result: &ToolResult) {
        for text in [&result.content, &result.display] {
            assert!(!text.contains(&self.canary), "I2 {text}");
        }
        assert!(is_terminal_safe(&result.display), "I6 {:?}", result.display);
        let limit = self.limits.output_bytes.min(self.limits.capacity_bytes);
        let length = result.content.len();
        let is_verbatim = result.content.starts_with('{');
        assert!(length <= limit || is_verbatim, "FR-OUT-04: {length} bytes, limit {limit}");
    }

    /// Files beneath the world that this process has open.
    fn open_files(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir("/proc/self/fd").unwrap().filter_map(Result::ok);
        let targets = entries.filter_map(|entry| std::fs::read_link(entry.path()).ok());
        let mut open: Vec<_> = targets.filter(|target| target.starts_with(&self.base)).collect();
        open.sort();
        open
    }

    /// For operations that are driven on this very thread.
    pub(crate) fn scope(&self, freshness: Freshness) -> CallContext {
        let deadline = Instant::now() + Duration::from_secs(30);
        CallContext {
            freshness: Arc::new(freshness),
            output_limit: self.limits.output_bytes.min(self.limits.capacity_bytes),
            capacity: self.limits.capacity_bytes,
            session_id: "s".into(),
            tool_name: "test".to_owned(),
            ..CallContext::without_call(self.workspace.clone(), self.limits.clone(), deadline)
        }
    }

    pub(crate) fn file(&self, path: &str) -> Vec<u8> {
        std::fs::read(self.root.join(path)).unwrap()
    }

    pub(crate) fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    pub(crate) fn link(&self, at: &str, to: &str) {
        let at = self.root.join(at);
        std::fs::create_dir_all(at.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(self.fill(to), at).unwrap();
    }
}

fn check_event(event: &ToolEvent) {
    match event {
        ToolEvent::StdoutChunk { chunk, .. } | ToolEvent::StderrChunk { chunk, .. } => {
            assert!(is_terminal_safe(chunk), "I6 {chunk:?}");
        }
        ToolEvent::Started { .. } | ToolEvent::Noticed { .. } | ToolEvent::Completed { .. } => {}
    }
}

pub(crate) fn sandbox(root: &Path, opening: Opening, paths: PathPolicy) -> Sandbox {
    let settings = SandboxSettings { policy: paths, ..SandboxSettings::rooted_at(root) };
    Sandbox::new(&settings).unwrap().with_opening(opening)
}

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap()
}

fn furnish(root: &Path, outside: &Path, sibling: &Path, canary: &str) {
    for directory in [&root.join("src"), &root.join("a/b"), &outside.join("sub"), sibling] {
        std::fs::create_dir_all(directory).unwrap();
    }
    std::fs::write(root.join("src/a.rs"), "one\ntwo\nthree\n").unwrap();
    std::fs::write(root.join("a/b/c.txt"), "inside\n").unwrap();
    for secret in [outside.join("secret"), outside.join("sub/secret"), sibling.join("secret")] {
        std::fs::write(secret, format!("{canary}\n")).unwrap();
    }
    std::fs::write(outside.join("victim"), "victim\n").unwrap();
}

fn canary() -> String {
    let mut noise = [0_u8; 12];
    rustix::rand::getrandom(&mut noise[..], rustix::rand::GetRandomFlags::empty()).unwrap();
    let digits: String = noise.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("canary{digits}")
}

/// Runs a test that looks at the whole process (its memory, its children, its working directory)
/// in a process of its own, also when the harness runs many tests in one.
pub(crate) fn in_own_process(name: &str, test: impl FnOnce()) {
    let alone = ["NEXTEST_EXECUTION_MODE", "HOSTILE_ALONE"];
    if alone.iter().any(|variable| std::env::var_os(variable).is_some()) {
        return test();
    }
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env("HOSTILE_ALONE", "1")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success() && told.contains("1 passed"), "{told}");
}

/// The most memory this process has had, from now on.
pub(crate) fn forget_peak_memory() {
    std::fs::write("/proc/self/clear_refs", "5").unwrap_or_default();
}

/// In bytes.
pub(crate) fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

/// Memory, where there is such a disk: cases by the thousand, no waiting for a sync.
pub(crate) fn quick_disk() -> PathBuf {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() }
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
