//! Running programs and tests (FJ-SHELL, FJ-TESTS).

use std::collections::BTreeMap;
use std::time::Duration;

use jm_process::command::{CommandInput, CommandProgram};
use jm_process::confine::Access;
use jm_shell::Danger;
use jm_tools::ops::command_output::Uncut;
use jm_tools::ops::report::{TestReport, TestRun};
use jm_tools::ops::run::{Run, RunOutcome, Shown};
use jm_tools::quote::quote_words;
use jm_tools::toolsets::test_runs::{check_command, lower_known_runner, parse_test_run};
use jm_tools::toolsets::{Lowered, Stakes, parse_args};
use jm_tools::{Output, ToolEffect};
use jm_types::{Limits, RiskLevel, ToolError};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct RunShell {
    cmd: Vec<String>,
    cwd: Option<String>,
    timeout: Option<u64>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    stdin: Option<String>,
}

pub(super) fn lower_run_shell(args: Value, _: &Limits) -> Result<Lowered<Run>, ToolError> {
    let args: RunShell = parse_args(args)?;
    check_command("cmd", &args.cmd)?;
    if args.timeout == Some(0) {
        return Err(ToolError::bad_args("timeout is a number of seconds, at least 1"));
    }
    if let Some(name) = args.env.keys().find(|name| !is_variable(name)) {
        return Err(ToolError::bad_args(format!("env: `{name}` is no name of a variable")));
    }
    let danger =
        Danger::of_argv(&args.cmd).and(Danger::of_environment(args.env.keys().map(String::as_str)));
    let mut summary = format!("Run {}", quote_words(&args.cmd));
    if let Some(directory) = &args.cwd {
        summary.push_str(&format!(" in {directory}"));
    }
    let run = Run {
        directory: args.cwd.unwrap_or_else(|| ".".to_owned()),
        variables: args.env.into_iter().collect(),
        input: args
            .stdin
            .map_or(CommandInput::Closed, |text| CommandInput::Bytes(text.into_bytes())),
        timeout: args.timeout.map(Duration::from_secs),
        shown: Shown::InJson,
        ..Run::new(CommandProgram::Argv(args.cmd.into_iter().map(Into::into).collect()))
    };
    Ok(judged(run, summary, &danger))
}

/// Lowers a command by its danger: one that only reads runs unasked, confined to reading; any other needs a
/// person, and the summary says why
/// (FJ-GATE).
fn judged(run: Run, summary: String, danger: &Danger) -> Lowered<Run> {
    if !danger.needs_person() {
        let run = Run { access: Access::ReadsOnly, ..run };
        return Lowered::new(run, summary).at_stake(Stakes::INSPECTS);
    }
    let summary = format!("{summary} ({})", danger.why);
    let stakes = Stakes { effect: ToolEffect::Runs, risk: danger.risk(), needs_person: true };
    Lowered::new(run, summary).at_stake(stakes)
}

fn is_variable(name: &str) -> bool {
    let is_start = |c: char| c.is_ascii_alphabetic() || c == '_';
    name.starts_with(is_start) && name.chars().all(|c| is_start(c) || c.is_ascii_digit())
}

pub(super) fn raise_run_shell(ran: RunOutcome, room: usize) -> Result<Output, ToolError> {
    let exit_code = ran.exit.code();
    let duration_ms = u64::try_from(ran.elapsed.as_millis()).unwrap_or(u64::MAX);
    let form = |stdout: &str, stderr: &str| {
        let result = json!({
            "exit_code": exit_code, "stdout": stdout, "stderr": stderr, "duration_ms": duration_ms,
        });
        warning(result, &ran.refusals)
    };
    let room = room.saturating_sub(form("", "").to_string().len());
    let Uncut { stdout, stderr } = ran.uncut;
    let printed = Uncut { stdout: stdout.redacted(), stderr: stderr.redacted() };
    let (stdout, stderr) = printed.in_json(room, ran.whole.as_deref());
    Ok(Output::Json(form(&stdout, &stderr)))
}

/// The result, with what confinement refused where it refused something.
fn warning(mut result: Value, refusals: &[String]) -> Value {
    if !refusals.is_empty() {
        result["warnings"] = json!(refusals);
    }
    result
}

pub(super) fn lower_run_tests(args: Value, _: &Limits) -> Result<Lowered<TestRun>, ToolError> {
    let (tests, summary) = parse_test_run(args)?;
    let Some(command) = tests.ordinary_command() else {
        return Ok(lower_known_runner(tests, summary));
    };
    // Like run_shell, and always asked about: nothing says that it only reads.
    let danger = Danger::of_argv(command);
    let why = if danger.needs_person() { &danger.why } else { "it is no test runner" };
    let summary = format!("{summary} ({why})");
    let risk = danger.risk().max(RiskLevel::Medium);
    let stakes = Stakes { effect: ToolEffect::Runs, risk, needs_person: true };
    let lowered = Lowered::new(tests, summary).at_stake(stakes);
    Ok(Lowered { stands_for: Some("run_shell"), ..lowered })
}

pub(super) fn raise_run_tests(report: TestReport, room: usize) -> Result<Output, ToolError> {
    let counts = report.counts;
    let form = |text: &str| {
        let result = json!({
            "total": counts.total, "passed": counts.passed, "failed": counts.failed,
            "errors": counts.errors, "skipped": counts.skipped, "report": text,
        });
        warning(result, &report.refusals)
    };
    let room = room.saturating_sub(form("").to_string().len());
    Ok(Output::Json(form(&report.printed.in_json(room, report.whole.as_deref()))))
}
