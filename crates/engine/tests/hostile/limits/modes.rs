//! MODE, FR-APR-05: what the configuration decides before anybody is asked.

use jm_engine::{CallStatus, Pause};
use jm_tools::{PathUse, Use};
use jm_types::{ApprovalMode, ToolCall, ToolDefinition, ToolsMode, Verdict};
use serde_json::json;
use std::sync::atomic::Ordering;

use crate::probe::Probe;
use crate::world::{OPENINGS, Setting, World, policy, quick_disk};

fn setting() -> Setting {
    Setting { disk: quick_disk(), ..Setting::new(OPENINGS[0]) }
}

fn probe_call(id: &str) -> ToolCall {
    ToolCall::new(id, "probe", &json!({}))
}

/// T-MODE-01, FR-MODE-01, FR-APR-04a, decision 20: nothing is offered, nothing runs.
#[test]
fn disabled_mode_refuses_every_call() {
    let probe = Probe::says("probe");
    let ran = probe.ran.clone();
    let mode = ToolsMode::Disabled;
    let mut world = World::with(Setting { mode, tools: vec![probe.boxed()], ..setting() });
    assert!(world.engine.advertised().is_empty());
    let results =
        world.batch(vec![probe_call("1"), ToolCall::new("2", "no such tool", &json!({}))]);
    for result in results {
        assert_eq!(result.error.map(|code| code.name()), Some("disabled"));
        assert!(result.content.contains("Tool execution disabled by policy"));
    }
    assert_eq!(ran.load(Ordering::Relaxed), 0);
}

/// T-MODE-02, FR-MODE-02, CFG-TOOLS-02a: calls wait for somebody's results, and only for known ids.
#[test]
fn parse_only_mode_runs_nothing_and_takes_results() {
    let probe = Probe::says("probe");
    let ran = probe.ran.clone();
    let manual = vec![ToolDefinition {
        name: "by_hand".to_owned(),
        description: "a person does it".to_owned(),
        parameters: json!({}),
        strict: None,
    }];
    let mode = ToolsMode::ParseOnly;
    let tools = vec![probe.boxed()];
    let mut world = World::with(Setting { mode, tools, manual: manual.clone(), ..setting() });
    assert_eq!(world.engine.advertised(), manual);
    world.sessions[0].submit(vec![probe_call("1"), probe_call("2")]).unwrap();
    assert_eq!(world.run(0), Pause::NeedsResults);
    assert!(world.sessions[0].results().is_none());
    assert!(world.sessions[0].submit(vec![probe_call("3")]).is_err(), "the batch is open");
    assert!(world.sessions[0].supply("unknown", String::new()).is_err());
    world.sessions[0].supply("1", "by hand \u{1b}[31m".to_owned()).unwrap();
    assert!(world.sessions[0].supply("1", "again".to_owned()).is_err());
    assert_eq!(world.run(0), Pause::NeedsResults);
    world.sessions[0].supply("2", "by hand".to_owned()).unwrap();
    assert_eq!(world.run(0), Pause::Finished);
    let results = world.sessions[0].results().unwrap();
    assert_eq!(results[0].content, "by hand \u{1b}[31m");
    assert!(jm_types::text::is_terminal_safe(&results[0].display));
    assert_eq!(ran.load(Ordering::Relaxed), 0);
}

/// One row of the truth table.
#[derive(Debug, Clone, Copy)]
struct Row {
    enabled: bool,
    denied: bool,
    violates: bool,
    mode: ApprovalMode,
    allowed: bool,
    needs_person: bool,
}

impl Row {
    /// FR-APR-05, in its own order.
    fn expected(self) -> (Verdict, Option<&'static str>) {
        let prompts = self.mode == ApprovalMode::Prompt && !self.allowed;
        match self {
            Row { enabled: false, .. } => (Verdict::Deny, Some("disabled")),
            Row { denied: true, .. } => (Verdict::Deny, Some("denylisted")),
            Row { violates: true, .. } => (Verdict::Deny, Some("path_outside_sandbox")),
            Row { mode: ApprovalMode::Deny, allowed: false, .. } => {
                (Verdict::Deny, Some("not_allowlisted"))
            }
            Row { needs_person: true, .. } => (Verdict::Ask, None),
            _ if prompts => (Verdict::Ask, None),
            _ => (Verdict::Allow, None),
        }
    }

    fn world(self) -> World {
        let mut probe = Probe::says("probe").changing();
        probe.spec.needs_person = self.needs_person;
        let path = if self.violates { "../x/victim" } else { "src/a.rs" };
        probe.paths = vec![PathUse::new(path, Use::Write)];
        let mut policy = policy(self.mode);
        policy.enabled = self.enabled;
        policy.denylist.extend(self.denied.then(|| "probe".to_owned()));
        policy.allowlist.extend(self.allowed.then(|| "probe".to_owned()));
        World::with(Setting { policy, tools: vec![probe.boxed()], ..setting() })
    }
}

fn rows() -> Vec<Row> {
    let modes = [ApprovalMode::Auto, ApprovalMode::Prompt, ApprovalMode::Deny];
    let bits = 0..32_u8;
    let row = |(bits, mode): (u8, ApprovalMode)| Row {
        enabled: bits & 1 == 0,
        denied: bits & 2 != 0,
        violates: bits & 4 != 0,
        allowed: bits & 8 != 0,
        needs_person: bits & 16 != 0,
        mode,
    };
    bits.flat_map(|bits| modes.map(|mode| (bits, mode))).map(row).collect()
}

/// ALLOW 237, NFR-SEC-04, FR-APR-05, FR-APR-04, FR-APR-04a, FR-APR-04b, FR-APR-04c, FR-APR-04d, FR-
/// APR-04e
#[test]
fn the_truth_table_of_precedence() {
    assert_eq!(rows().len(), 96);
    for row in rows() {
        let mut world = row.world();
        let (verdict, error) = row.expected();
        let call = probe_call("1");
        let inspected =
            world.runtime().block_on(world.engine.inspect(&world.sessions[0], call.clone()));
        assert_eq!(inspected.verdict, verdict, "{row:?}");
        assert_eq!(inspected.error.as_ref().map(|error| error.name()), error, "{row:?}");
        world.sessions[0].submit(vec![call]).unwrap();
        let pause = world.run(0);
        let entry = &world.sessions[0].batch().entries[0];
        match (verdict, &entry.status) {
            (Verdict::Ask, CallStatus::Pending(_)) => assert_eq!(pause, Pause::NeedsApproval),
            (Verdict::Allow, CallStatus::Done(result)) => assert_eq!(result.content, "probe ran"),
            (Verdict::Deny, CallStatus::Done(result)) => {
                assert_eq!(result.error.map(|code| code.name()), error, "{row:?}");
            }
            (_, status) => panic!("{row:?}: {status:?}"),
        }
    }
}

/// FR-APR-04d: prompt_side_effects, and what only reads.
#[test]
fn prompt_mode_asks_for_effects_only() {
    for (changes, prompts, asks) in
        [(true, true, true), (true, false, false), (false, true, false), (false, false, false)]
    {
        let probe = Probe::says("probe");
        let probe = if changes { probe.changing() } else { probe };
        let mut policy = policy(ApprovalMode::Prompt);
        policy.prompt_side_effects = prompts;
        let mut world = World::with(Setting { policy, tools: vec![probe.boxed()], ..setting() });
        world.sessions[0].submit(vec![probe_call("1")]).unwrap();
        assert_eq!(world.run(0) == Pause::NeedsApproval, asks, "{changes} {prompts}");
    }
}
