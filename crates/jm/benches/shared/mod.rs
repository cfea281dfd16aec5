//! Parts that the benchmarks share: how times are taken and told, and an engine on a directory.

#![allow(dead_code, reason = "each benchmark uses its part")]

pub(crate) mod bare;
pub(crate) mod lines;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jm_engine::Core;
use jm_engine::{CallRecorder, Engine, Pause, Session};
use jm_files::{ProjectState, Sandbox, SandboxSettings};
use jm_policy::Policy;
use jm_process::EnvSanitizer;
use jm_tools::toolsets::{STANDARD, Timeouts};
use jm_tools::{ToolRegistry, Workspace};
use jm_types::{ApprovalMode, Limits, ToolCall, ToolResult, ToolsMode};
use serde_json::Value;

/// Sorted durations of many runs.
pub(crate) fn sample(runs: usize, mut work: impl FnMut()) -> Vec<Duration> {
    for _ in 0..runs.div_ceil(10) {
        work();
    }
    let once = |_| {
        let began = Instant::now();
        work();
        began.elapsed()
    };
    let mut times: Vec<Duration> = (0..runs).map(once).collect();
    times.sort_unstable();
    times
}

/// Durations of two works that take turns, so that a busy machine is busy for both.
pub(crate) fn in_turns(
    runs: usize,
    mut ours: impl FnMut(),
    mut theirs: impl FnMut(),
) -> [Vec<Duration>; 2] {
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..runs {
        times[0].extend(sample(1, &mut ours));
        times[1].extend(sample(1, &mut theirs));
    }
    times.iter_mut().for_each(|times| times.sort_unstable());
    times
}

pub(crate) fn heading() {
    println!("{:<50} {:>12} {:>12}", "", "p50", "p99");
}

pub(crate) fn report(name: &str, times: &[Duration]) -> Duration {
    let (p50, p99) = (times[times.len() / 2], times[times.len() * 99 / 100]);
    println!("{name:<50} {p50:>12.2?} {p99:>12.2?}");
    p50
}

pub(crate) fn ratio(what: &str, ours: Duration, theirs: Duration) {
    println!("{what:<50} {:>11.2}x\n", ours.as_secs_f64() / theirs.as_secs_f64());
}

pub(crate) fn difference(what: &str, ours: Duration, theirs: Duration) {
    println!("{what:<50} {:>12.2?}\n", ours.saturating_sub(theirs));
}

pub(crate) fn engine(root: &Path, recorder: CallRecorder) -> Engine {
    let minute = Duration::from_secs(60);
    let timeouts = Timeouts { file_operations: 10 * minute, shell_commands: 10 * minute };
    Engine::new(Core {
        registry: ToolRegistry::new(STANDARD.tools(&timeouts)).unwrap(),
        workspace: Workspace {
            sandbox: Arc::new(Sandbox::new(&SandboxSettings::rooted_at(root)).unwrap()),
            environment: Arc::new(EnvSanitizer::new(&[])),
            confiner: Arc::new(jm_process::Confiner::unsupervised()),
            jobs: Arc::default(),
            state: Arc::new(ProjectState::new(root, root)),
        },
        policy: Policy::of_mode(ApprovalMode::Auto).into(),
        limits: Limits { iterations_per_turn: usize::MAX, ..Limits::default() },
        mode: ToolsMode::Enabled,
        default_timeout: 10 * minute,
        manual: Vec::new(),
        estimate: Default::default(),
        events: tokio::sync::mpsc::channel(16).0,
        recorder,
        layers: jm_engine::EngineLayers::none(),
        index: Default::default(),
    })
}

/// An engine with a session and a thread to run them on.
pub(crate) struct Desk {
    engine: Engine,
    session: Session,
    runtime: tokio::runtime::Runtime,
}

impl Desk {
    pub(crate) fn new(root: &Path, recorder: CallRecorder) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Self { engine: engine(root, recorder), session: Session::new("bench"), runtime }
    }

    /// One call, from plan to reply: what the model is told.
    pub(crate) fn call(&mut self, name: &str, args: &Value) -> String {
        let result = self.result(name, args);
        assert!(!result.is_error(), "{}", result.content);
        result.content
    }

    /// One call that must fail.
    pub(crate) fn refused(&mut self, name: &str, args: &Value) -> String {
        let result = self.result(name, args);
        assert!(result.is_error(), "{}", result.content);
        result.content
    }

    fn result(&mut self, name: &str, args: &Value) -> ToolResult {
        self.session.submit(vec![ToolCall::new("1", name, args)]).unwrap();
        let pause = self.runtime.block_on(self.engine.run(&mut self.session));
        assert_eq!(pause, Pause::Finished);
        self.session.batch().entries[0].result().unwrap().clone()
    }
}
