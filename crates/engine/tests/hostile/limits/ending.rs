//! However a call ends, it ends with one result, and the others go on.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use jm_engine::Pause;
use jm_types::{ToolCall, ToolError, ToolResult};
use serde_json::json;

use super::errors;
use crate::probe::{Act, At, LITERAL, PRIVATE, Probe, With};
use crate::world::{NOT_HANGING, OPENINGS, Setting, World, quick_disk};

const LONG: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_millis(150);

fn world(probes: Vec<Probe>) -> World {
    let tools = probes.into_iter().map(Probe::boxed).collect();
    World::with(Setting { tools, disk: quick_disk(), ..Setting::new(OPENINGS[0]) })
}

fn call(id: &str, tool: &str) -> ToolCall {
    ToolCall::new(id, tool, &json!({}))
}

fn results(world: &World) -> Vec<ToolResult> {
    world.sessions[0].results().unwrap().into_iter().cloned().collect()
}

/// T-TMO-01, FR-EXE-03, FR-EXE-02, NFR-REL-02: the tool's own time, the default, deaf tools.
#[test]
fn a_call_that_takes_too_long_is_ended_and_the_next_one_runs() {
    let mut world = world(vec![
        Probe::new("slow", Act::Sleeps(LONG)).within(SHORT),
        Probe::new("heeding", Act::Heeds).within(SHORT),
        Probe::new("deaf", Act::Blocks(Duration::from_secs(2))).within(SHORT),
        Probe::new("deaf_change", Act::Blocks(Duration::from_secs(2))).changing().within(SHORT),
        Probe::says("quick"),
    ]);
    let began = Instant::now();
    let calls =
        ["slow", "heeding", "deaf", "deaf_change", "quick"].map(|tool| call(tool, tool)).to_vec();
    let results = world.batch(calls);
    let timeout = Some("timeout");
    assert_eq!(errors(&results), [timeout, timeout, timeout, timeout, None]);
    assert!(results[0].content.contains("slow timed out after 0."), "{}", results[0].content);
    assert!(began.elapsed() < NOT_HANGING, "{:?}", began.elapsed());
}

/// FR-EXE-03: without a time of its own a tool has the default.
#[test]
fn the_default_timeout() {
    let tools = vec![Probe::new("slow", Act::Sleeps(LONG)).boxed()];
    let mut setting = Setting { tools, disk: quick_disk(), ..Setting::new(OPENINGS[0]) };
    setting.timeouts.file_operations = SHORT;
    let results = World::with(setting).batch(vec![call("1", "slow")]);
    assert_eq!(errors(&results), [Some("timeout")]);
}

/// T-CAN-01, FR-EXE-04, NFR-REL-03, PROC 170: what ran keeps its result, the rest is cancelled, at
/// once.
#[test]
fn cancelling_ends_the_call_and_those_behind_it() {
    for act in [Act::Sleeps(LONG), Act::Heeds, Act::Blocks(Duration::from_secs(2))] {
        let slow = Probe::new("slow", act);
        let (running, last) = (slow.ran.clone(), Probe::says("last"));
        let never = last.ran.clone();
        let mut world = world(vec![Probe::says("quick"), slow, last]);
        let canceller = world.engine.canceller();
        let presser = std::thread::spawn(move || {
            while running.load(Ordering::Relaxed) == 0 {
                std::thread::yield_now();
            }
            canceller.cancel();
        });
        let began = Instant::now();
        let calls = ["quick", "slow", "last"].map(|tool| call(tool, tool)).to_vec();
        world.sessions[0].submit(calls).unwrap();
        assert_eq!(world.run(0), Pause::Cancelled);
        presser.join().unwrap();
        assert!(began.elapsed() < NOT_HANGING, "{:?}", began.elapsed());
        let cancelled = Some("cancelled");
        assert_eq!(errors(&results(&world)), [None, cancelled, cancelled]);
        assert!(results(&world)[2].content.contains("Cancelled by user"));
        assert_eq!(never.load(Ordering::Relaxed), 0);
        assert_eq!(errors(&world.batch(vec![call("1", "last")])), [None], "and then work goes on");
    }
}

/// PROC 170, FR-EXE-04: cancelled while a person is asked.
#[test]
fn cancelling_while_an_approval_is_pending() {
    let mut probe = Probe::says("probe");
    probe.spec.needs_person = true;
    let mut world = world(vec![probe]);
    world.sessions[0].submit(vec![call("1", "probe"), call("2", "probe")]).unwrap();
    assert_eq!(world.run(0), Pause::NeedsApproval);
    world.engine.canceller().cancel();
    assert_eq!(world.run(0), Pause::Cancelled);
    assert_eq!(errors(&results(&world)), [Some("cancelled"), Some("cancelled")]);
}

/// PROC 170: a second press that comes too late is not saved up for the next message.
#[test]
fn cancelling_when_nothing_runs_does_not_cancel_what_comes_later() {
    let mut world = world(vec![Probe::says("probe")]);
    assert_eq!(errors(&world.batch(vec![call("1", "probe")])), [None]);
    world.engine.canceller().cancel();
    assert_eq!(errors(&world.batch(vec![call("2", "probe")])), [None]);
}

/// FR-EXE-04b, FR-EXE-04b-1, FR-EXE-04b-2, FR-EXE-04b-3, NFR-REL-01: wherever a tool panics.
#[test]
fn a_panic_is_that_calls_result() {
    let places = [At::Prepare, At::Intent, At::Preview, At::Execute, At::Future, At::Thread];
    let mut wrong = Vec::new();
    for at in places {
        for with in [With::Literal, With::Formatted, With::Number] {
            let caught = std::panic::catch_unwind(|| check_panic(at, with));
            if let Err(payload) = caught {
                let why = payload.downcast_ref::<String>().cloned().unwrap_or_default();
                wrong.push(format!("{at:?}, {with:?}: {why}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The call that was shown is the call that runs: its text is read once, asked about or not.
#[test]
fn a_call_is_parsed_once() {
    for needs_person in [false, true] {
        let mut probe = Probe::new("probe", Act::Panics(At::SecondPrepare, With::Literal));
        probe.spec.needs_person = needs_person;
        let mut world = world(vec![probe]);
        assert_eq!(errors(&world.batch(vec![call("1", "probe")])), [None], "{needs_person}");
    }
}

fn check_panic(at: At, with: With) {
    let mut bad = Probe::new("bad", Act::Panics(at, with));
    // Only what somebody is asked about is previewed.
    bad.spec.needs_person = at == At::Preview;
    let mut world = world(vec![bad, Probe::says("good")]);
    let results = world.batch(vec![call("1", "bad"), call("2", "good")]);
    assert_eq!(errors(&results), [Some("panicked"), None], "{}", results[0].content);
    let told = &results[0].content;
    assert!(told.starts_with("Tool panicked: "), "{told}");
    assert!(!told.contains(PRIVATE), "{told}");
    assert!(with != With::Number || !told.contains("42"), "{told}");
    assert!(!told.contains(LITERAL) || with == With::Literal);
}

/// FR-ERR-JSON-TOOL-01, FR-ERR-JSON-TOOL-02, decision 24: JSON objects verbatim, all else prefixed.
#[test]
fn errors_that_are_json_pass_untouched() {
    let huge = format!(r#"{{"error": "{}"}}"#, "e".repeat(200_000));
    let cases: &[(&str, bool)] = &[
        (r#"{"error": "x"}"#, true),
        ("{\"a\": \"\\u001b[31m\",\n \"b\" : [1,2 ] }", true),
        ("{}", true),
        ("{\"a\": \"\u{202e}\u{9b}\"}", true),
        (&huge, true),
        (r#"["error"]"#, false),
        (r#""error""#, false),
        ("1", false),
        ("null", false),
        (r#"{"error": }"#, false),
        (r#"{"a": 1} trailing"#, false),
        ("plain \u{1b}[31m text", false),
        ("", false),
    ];
    for (message, verbatim) in cases {
        let error = ToolError::failed("other", *message).hint("a hint");
        let mut world = world(vec![Probe::new("probe", Act::Fails(error))]);
        let result = world.batch(vec![call("1", "probe")]).remove(0);
        assert_eq!(result.error.map(|code| code.name()), Some("execution_failed"));
        match verbatim {
            true => assert_eq!(result.content, *message),
            false => {
                let prefixed = format!("other failed: {message}");
                assert!(result.content.starts_with(&prefixed), "{}", result.content);
            }
        }
    }
}

/// FR-OUT-04, FR-OUT-04a, T-OUT-01, OUT 181: the limit holds, marker included, at every size.
#[test]
fn output_is_cut_at_every_limit() {
    let text = "a\u{e9}\u{20ac}\u{1f600}".repeat(20);
    for limit in 0..text.len() + 2 {
        let tools = vec![Probe::new("probe", Act::Says(text.clone())).boxed()];
        let limits = jm_types::Limits { output_bytes: limit, ..Default::default() };
        let mut world =
            World::with(Setting { tools, limits, disk: quick_disk(), ..Setting::new(OPENINGS[0]) });
        let content = world.batch(vec![call("1", "probe")]).remove(0).content;
        assert!(content.len() <= limit, "{limit}: {}", content.len());
        let whole = limit >= text.len();
        assert_eq!(content == text, whole, "{limit}");
        assert!(whole || limit < 24 || content.ends_with("... [output truncated]"), "{content}");
    }
}
