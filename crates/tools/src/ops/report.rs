//! Tests: the project's runner, and its verdict in numbers (FJ-TESTS).
//!
//! Law: the numbers are the runner's own. A run that gives none is an error that shows what it
//! printed, never a row of zeros.

mod counts;
mod runner;
mod tap;
#[cfg(test)]
mod tests;

use jm_types::ToolError;
use jm_types::text::{head_and_tail, head_and_tail_naming, redact};
use jm_workspace::process::{Ending, Program};

use crate::context::Scope;
use crate::ops::danger::Danger;
use crate::ops::run::{Events, Run, Shown};
pub use counts::Counts;
use runner::Runner;

/// Summaries come last, details of failures before them: this much of both is looked through.
const KEPT: usize = 8 * 1024 * 1024;

/// Runs the project's tests, or a command that does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestRun {
    /// Where the project is, from the root.
    pub directory: String,
    /// Which tests, in the runner's own words.
    pub selector: Option<String>,
    /// Instead of the project's own runner.
    pub command: Option<Vec<String>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestReport {
    pub counts: Counts,
    /// What was printed, without secrets.
    pub text: String,
    /// How all of it can be read, if it is kept.
    pub whole: Option<String>,
    /// What confinement refused, as far as the output tells.
    pub refusals: Vec<String>,
}

impl TestRun {
    /// A command that is no test runner is judged like any other.
    pub fn danger(&self) -> Option<Danger> {
        let command = self.command.as_ref().filter(|command| !runner::is_test_command(command))?;
        Some(Danger::of_argv(command))
    }

    pub fn run(&self, scope: &Scope, events: Events) -> Result<TestReport, ToolError> {
        let command = match &self.command {
            Some(command) => command.clone(),
            None => Runner::detect(&scope.workspace.sandbox, &self.directory)?
                .command(self.selector.as_deref())?,
        };
        let shown = command.join(" ");
        let program = Program::Argv(command.into_iter().map(Into::into).collect());
        let run =
            Run { directory: self.directory.clone(), shown: Shown::InJson, ..Run::new(program) };
        let ran = run.keeping(KEPT, scope, events)?;
        let output = [ran.stdout.as_str(), &ran.stderr].concat();
        let text = report(&output, scope.output_limit, ran.whole.as_deref());
        let how = match (Counts::find(&output), ran.ending) {
            (Some(counts), _) => {
                let (whole, refusals) = (ran.whole, ran.refusals);
                return Ok(TestReport { counts, text, whole, refusals });
            }
            (None, Ending::Exited(code)) => {
                format!("`{shown}` ended with exit code {code} and reported no tests")
            }
            (None, ending) => format!("`{shown}` did not end by itself: {ending:?}"),
        };
        Err(ran.failure(&scope.tool_name, how, text))
    }
}

/// Head and tail within the limit. JSON escapes may double what is printed, so half is used.
fn report(output: &str, limit: usize, whole: Option<&str>) -> String {
    let clean = redact(output);
    let (head, tail) = clean.split_at(clean.floor_char_boundary(clean.len() / 2));
    match whole {
        Some(whole) => head_and_tail_naming(head, tail, 0, limit / 2, whole),
        None => head_and_tail(head, tail, 0, limit / 2),
    }
}
