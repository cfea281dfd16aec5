//! `run_tests`, answered in lines.

use jm_types::{Limits, ToolError};
use serde_json::Value;

use super::{Lowered, Operation, Outcome, Output, Stakes, mismatch};
use crate::ops::exact::quoted;
use crate::toolsets::forj::{of_a_runner, test_run};

/// A command that is no test runner is `run_command` by another name: the same rules, the same words.
pub(super) fn lower(args: Value, _: &Limits) -> Result<Lowered, ToolError> {
    let (tests, summary) = test_run(args)?;
    let Some(command) = tests.ordinary_command() else { return Ok(of_a_runner(tests, summary)) };
    let summary = format!("Run command: {}", quoted(command));
    let lowered = Lowered::new(Operation::Test(tests), summary).at_stake(Stakes::RUNS);
    Ok(Lowered { stands_for: Some("run_command"), ..lowered })
}

/// The numbers come first, so that a cut leaves them.
pub(super) fn raise(outcome: Outcome, room: usize) -> Result<Output, ToolError> {
    let Outcome::Tested(report) = outcome else { return Err(mismatch("run_tests", &outcome)) };
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
