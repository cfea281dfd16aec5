//! `run_tests`, answered in lines.

use jm_types::ToolError;

use super::{Outcome, Output, mismatch};

/// The numbers come first, so that a cut leaves them.
pub(super) fn raise(outcome: Outcome, _: usize) -> Result<Output, ToolError> {
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
    Ok(Output::Text([&heading, &hints.collect(), "\n", &report.text].concat()))
}
