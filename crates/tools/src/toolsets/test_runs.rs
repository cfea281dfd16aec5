//! Runs of a project's tests, as calls ask for them (FJ-TESTS). The form of answers is each set's own.

use jm_types::{RiskLevel, ToolError};
use serde::Deserialize;
use serde_json::Value;

use super::args::parse_args;
use super::lowered::{Lowered, Stakes};
use crate::ops::report::TestRun;
use crate::quote::quote_words;
use jm_types::ToolEffect;

#[derive(Deserialize)]
struct RunTests {
    selector: Option<String>,
    command: Option<Vec<String>>,
    /// The call's own directory.
    cwd: Option<String>,
}

/// Parses the arguments of `run_tests`, and sums them up.
pub fn parse_test_run(args: Value) -> Result<(TestRun, String), ToolError> {
    let args: RunTests = parse_args(args)?;
    if args.selector.is_some() && args.command.is_some() {
        return Err(ToolError::bad_args("give either selector or command, not both"));
    }
    if let Some(command) = &args.command {
        check_command("command", command)?;
    }
    let summary = match (&args.command, &args.selector) {
        (Some(command), _) => format!("Run tests: {}", quote_words(command)),
        (None, Some(selector)) => format!("Run the project's tests: {selector}"),
        (None, None) => "Run the project's tests".to_owned(),
    };
    let directory = args.cwd.unwrap_or_else(|| ".".to_owned());
    Ok((TestRun { directory, selector: args.selector, command: args.command }, summary))
}

/// The project's tests, or a command that is known to run tests.
pub fn lower_known_runner(tests: TestRun, summary: String) -> Lowered<TestRun> {
    let stakes = Stakes { effect: ToolEffect::Runs, risk: RiskLevel::Medium, needs_person: false };
    Lowered::new(tests, summary).at_stake(stakes)
}

/// Refuses words that are no command line.
pub fn check_command(name: &str, words: &[String]) -> Result<(), ToolError> {
    let problem = match words.first() {
        None => "is empty",
        Some(first) if first.is_empty() => "begins with an empty word",
        Some(_) if words.iter().any(|word| word.contains('\0')) => "contains a NUL character",
        Some(_) => return Ok(()),
    };
    Err(ToolError::bad_args(format!("{name} {problem}")))
}
