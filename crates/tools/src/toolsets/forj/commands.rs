//! Running programs and tests (FJ-SHELL, FJ-TESTS).

use std::collections::BTreeMap;
use std::time::Duration;

use jm_shell::Danger;
use jm_types::{Limits, RiskLevel, ToolError};
use jm_workspace::confine::Access;
use jm_workspace::process::{Ending, Input, Program};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Lowered, Operation, Outcome, Output, Stakes, mismatch, parse};
use crate::ops::exact::quoted;
use crate::ops::printed::Uncut;
use crate::ops::report::TestRun;
use crate::ops::run::{Run, Shown};
use crate::tool::Effect;

#[derive(Deserialize)]
struct RunShell {
    cmd: Vec<String>,
    cwd: Option<String>,
    timeout: Option<u64>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    stdin: Option<String>,
}

pub(super) fn lower_run_shell(args: Value, _: &Limits) -> Result<Lowered, ToolError> {
    let args: RunShell = parse(args)?;
    check_command("cmd", &args.cmd)?;
    if args.timeout == Some(0) {
        return Err(ToolError::bad_args("timeout is a number of seconds, at least 1"));
    }
    if let Some(name) = args.env.keys().find(|name| !is_variable(name)) {
        return Err(ToolError::bad_args(format!("env: `{name}` is no name of a variable")));
    }
    let danger =
        Danger::of_argv(&args.cmd).and(Danger::of_environment(args.env.keys().map(String::as_str)));
    let mut summary = format!("Run {}", quoted(&args.cmd));
    if let Some(directory) = &args.cwd {
        summary.push_str(&format!(" in {directory}"));
    }
    let run = Run {
        directory: args.cwd.unwrap_or_else(|| ".".to_owned()),
        variables: args.env.into_iter().collect(),
        input: args.stdin.map_or(Input::Closed, |text| Input::Bytes(text.into_bytes())),
        timeout: args.timeout.map(Duration::from_secs),
        shown: Shown::InJson,
        ..Run::new(Program::Argv(args.cmd.into_iter().map(Into::into).collect()))
    };
    Ok(judged(run, summary, &danger))
}

/// What only reads may run unasked, confined to reading; for the rest the summary says why it may not
/// (FJ-GATE).
fn judged(run: Run, summary: String, danger: &Danger) -> Lowered {
    match danger.needs_person() {
        false => {
            let run = Run { access: Access::ReadsOnly, ..run };
            Lowered::new(Operation::Run(run), summary).at_stake(Stakes::INSPECTS)
        }
        true => {
            let summary = format!("{summary} ({})", danger.why);
            let stakes = Stakes { effect: Effect::Runs, risk: danger.risk(), needs_person: true };
            Lowered::new(Operation::Run(run), summary).at_stake(stakes)
        }
    }
}

fn check_command(name: &str, words: &[String]) -> Result<(), ToolError> {
    let problem = match words.first() {
        None => "is empty",
        Some(first) if first.is_empty() => "begins with an empty word",
        Some(_) if words.iter().any(|word| word.contains('\0')) => "contains a NUL character",
        Some(_) => return Ok(()),
    };
    Err(ToolError::bad_args(format!("{name} {problem}")))
}

fn is_variable(name: &str) -> bool {
    let is_start = |c: char| c.is_ascii_alphabetic() || c == '_';
    name.starts_with(is_start) && name.chars().all(|c| is_start(c) || c.is_ascii_digit())
}

pub(super) fn raise_run_shell(outcome: Outcome, room: usize) -> Result<Output, ToolError> {
    let Outcome::Ran(ran) = outcome else { return Err(mismatch("run_shell", &outcome)) };
    let exit_code = match ran.ending {
        Ending::Exited(code) => code,
        Ending::Signalled(signal) => 128 + signal,
        Ending::TimedOut | Ending::Cancelled => {
            return Err(mismatch("run_shell", &Outcome::Ran(ran)));
        }
    };
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

#[derive(Deserialize)]
struct RunTests {
    selector: Option<String>,
    command: Option<Vec<String>>,
    /// The call's own directory.
    cwd: Option<String>,
}

pub(super) fn lower_run_tests(args: Value, _: &Limits) -> Result<Lowered, ToolError> {
    let (tests, summary) = test_run(args)?;
    let Some(command) = tests.ordinary_command() else { return Ok(of_a_runner(tests, summary)) };
    // Like run_shell, and always asked about: nothing says that it only reads.
    let danger = Danger::of_argv(command);
    let why = if danger.needs_person() { &danger.why } else { "it is no test runner" };
    let summary = format!("{summary} ({why})");
    let risk = danger.risk().max(RiskLevel::Medium);
    let stakes = Stakes { effect: Effect::Runs, risk, needs_person: true };
    let lowered = Lowered::new(Operation::Test(tests), summary).at_stake(stakes);
    Ok(Lowered { stands_for: Some("run_shell"), ..lowered })
}

/// The project's tests, or a command that is known to run tests.
pub(in crate::toolsets) fn of_a_runner(tests: TestRun, summary: String) -> Lowered {
    let stakes = Stakes { effect: Effect::Runs, risk: RiskLevel::Medium, needs_person: false };
    Lowered::new(Operation::Test(tests), summary).at_stake(stakes)
}

/// The arguments of `run_tests`, and how they are summed up.
pub(in crate::toolsets) fn test_run(args: Value) -> Result<(TestRun, String), ToolError> {
    let args: RunTests = parse(args)?;
    if args.selector.is_some() && args.command.is_some() {
        return Err(ToolError::bad_args("give either selector or command, not both"));
    }
    if let Some(command) = &args.command {
        check_command("command", command)?;
    }
    let summary = match (&args.command, &args.selector) {
        (Some(command), _) => format!("Run tests: {}", quoted(command)),
        (None, Some(selector)) => format!("Run the project's tests: {selector}"),
        (None, None) => "Run the project's tests".to_owned(),
    };
    let directory = args.cwd.unwrap_or_else(|| ".".to_owned());
    Ok((TestRun { directory, selector: args.selector, command: args.command }, summary))
}

pub(super) fn raise_run_tests(outcome: Outcome, room: usize) -> Result<Output, ToolError> {
    let Outcome::Tested(report) = outcome else { return Err(mismatch("run_tests", &outcome)) };
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
