//! Running programs and tests (FJ-SHELL, FJ-TESTS).

use std::collections::BTreeMap;
use std::time::Duration;

use jm_types::text::json_length;
use jm_types::text::redact;
use jm_types::{Limits, RiskLevel, ToolError};
use jm_workspace::process::{Ending, Input, Program};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Lowered, Operation, Outcome, Output, Stakes, mismatch, parse};
use crate::ops::danger::Danger;
use crate::ops::report::TestRun;
use crate::ops::run::{Run, Shown};
use crate::tool::Effect;
use crate::toolsets::envelope::both_ends;

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
    let mut summary = format!("Run {}", shown(&args.cmd));
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
    Ok(judged(Operation::Run(run), summary, &danger))
}

/// What only reads may run unasked; for the rest the summary says why it may not (FJ-GATE).
fn judged(operation: Operation, summary: String, danger: &Danger) -> Lowered {
    match danger.needs_person() {
        false => Lowered::new(operation, summary).at_stake(Stakes::READS),
        true => {
            let summary = format!("{summary} ({})", danger.why);
            let stakes = Stakes { effect: Effect::Runs, risk: danger.risk(), needs_person: true };
            Lowered::new(operation, summary).at_stake(stakes)
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

/// As one would type it, so that the borders of words can be seen.
fn shown(words: &[String]) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    let word = |word: &String| match !word.is_empty() && word.chars().all(is_plain) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    };
    words.iter().map(word).collect::<Vec<_>>().join(" ")
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
    let (stdout, stderr) = (redact(&ran.stdout), redact(&ran.stderr));
    let errors = ran.whole.as_ref().map(|whole| format!("{whole} --stderr"));
    let of_errors = (room / 2).max(room.saturating_sub(json_length(&stdout)));
    let stderr = both_ends(&stderr, of_errors, errors.as_deref());
    let stdout = both_ends(&stdout, room - json_length(&stderr), ran.whole.as_deref());
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

pub(in crate::toolsets) fn lower_run_tests(args: Value, _: &Limits) -> Result<Lowered, ToolError> {
    let args: RunTests = parse(args)?;
    if args.selector.is_some() && args.command.is_some() {
        return Err(ToolError::bad_args("give either selector or command, not both"));
    }
    if let Some(command) = &args.command {
        check_command("command", command)?;
    }
    let summary = match (&args.command, &args.selector) {
        (Some(command), _) => format!("Run tests: {}", shown(command)),
        (None, Some(selector)) => format!("Run the project's tests: {selector}"),
        (None, None) => "Run the project's tests".to_owned(),
    };
    let directory = args.cwd.unwrap_or_else(|| ".".to_owned());
    let tests = TestRun { directory, selector: args.selector, command: args.command };
    match tests.danger() {
        Some(danger) => Ok(judged(Operation::Test(tests), summary, &danger)),
        None => {
            let stakes =
                Stakes { effect: Effect::Runs, risk: RiskLevel::Medium, needs_person: false };
            Ok(Lowered::new(Operation::Test(tests), summary).at_stake(stakes))
        }
    }
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
    Ok(Output::Json(form(&both_ends(&report.text, room, report.whole.as_deref()))))
}
