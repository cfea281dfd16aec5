//! `run_tests`, answered in lines.

use jm_types::{Limits, ToolError};
use serde_json::Value;

use crate::ops::report::{TestReport, TestRun};
use crate::quote::quote_words;
use crate::tool::Output;
use crate::toolsets::lowered::{Lowered, Stakes};
use crate::toolsets::test_runs::{lower_known_runner, parse_test_run};

/// A command that is no test runner is `run_command` by another name: the same rules, the same words.
pub(super) fn lower(args: Value, _: &Limits) -> Result<Lowered<TestRun>, ToolError> {
    let (tests, summary) = parse_test_run(args)?;
    let Some(command) = tests.ordinary_command() else {
        return Ok(lower_known_runner(tests, summary));
    };
    let summary = format!("Run command: {}", quote_words(command));
    let lowered = Lowered::new(tests, summary).at_stake(Stakes::RUNS);
    Ok(Lowered { stands_for: Some("run_command"), ..lowered })
}

/// The numbers come first, so that a cut leaves them.
pub(super) fn raise(report: TestReport, room: usize) -> Result<Output, ToolError> {
    let counts = report.counts;
    let numbers = [
        (counts.passed, "passed"),
        (counts.failed, "failed"),
        (counts.errors, "errors"),
        (counts.skipped, "skipped"),
    ];
    let said = numbers.iter().filter(|(count, what)| *count > 0 || *what == "failed");
    let said: Vec<String> = said.map(|(count, what)| format!("{count} {what}")).collect();
    let heading = format!("{} tests: {}\n", counts.total, said.join(", "));
    let hints = report.refusals.iter().map(|refusal| format!("hint: {refusal}\n"));
    let above = [&heading, &hints.collect::<String>(), "\n"].concat();
    let room = room.saturating_sub(above.len());
    let printed = report.printed.within(room, report.whole.as_deref());
    Ok(Output::Text([above, printed].concat()))
}
