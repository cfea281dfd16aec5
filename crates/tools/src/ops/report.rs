//! Tests: the project's runner, and its verdict in numbers (FJ-TESTS).
//!
//! Law: the numbers are the runner's own. A run that gives none is an error that shows what it
//! printed, never a row of zeros.

mod counts;
mod formats;
mod known;
mod runner;
mod tap;
#[cfg(test)]
mod tests;

use jm_process::command::{CommandProgram, Exit};
use jm_shell::CommandLine;
use jm_types::ToolError;

use crate::context::Scope;
use crate::events::Events;
use crate::foresight::Foreseen;
use crate::operation::{CallSummary, Execution, Operation};
use crate::ops::command_output::{Printed, Uncut};
use crate::ops::run::{Run, Shown};
use crate::tool::{PathUse, Preview, ShownCommand, Use};
pub use counts::Counts;
use formats::find_counts;
use runner::Runner;

/// Summaries come last, details of failures before them: this much of both is looked through.
const KEPT: usize = 8 * 1024 * 1024;

/// Runs the project's tests, or a command that does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestRun {
    /// The project's directory, from the root.
    pub directory: String,
    /// The tests to run, in the runner's own words.
    pub selector: Option<String>,
    /// Instead of the project's own runner.
    pub command: Option<Vec<String>>,
}

/// A test run with its numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestReport {
    /// The numbers that the runner printed.
    pub counts: Counts,
    /// The output, without secrets.
    pub printed: Printed,
    /// The command that shows all of it, if it is kept.
    pub whole: Option<String>,
    /// The refusals of confinement, as far as the output tells.
    pub refusals: Vec<String>,
}

impl TestRun {
    /// The command, where it is no test runner: an ordinary command then.
    pub fn ordinary_command(&self) -> Option<&[String]> {
        self.command.as_deref().filter(|command| !known::is_test_command(command))
    }

    /// The command that runs the tests: as given, or as the project's files tell.
    fn command(&self, scope: &Scope) -> Result<Vec<String>, ToolError> {
        match &self.command {
            Some(command) => Ok(command.clone()),
            None => Runner::detect(&scope.workspace.sandbox, &self.directory)?
                .command(self.selector.as_deref()),
        }
    }

    fn as_run(&self, command: Vec<String>) -> Run {
        let program = CommandProgram::Argv(command.into_iter().map(Into::into).collect());
        Run { directory: self.directory.clone(), shown: Shown::InJson, ..Run::new(program) }
    }

    /// The exact command, for the question.
    pub fn preview(&self, scope: &Scope) -> Result<Preview, ToolError> {
        Ok(self.as_run(self.command(scope)?).exact_preview())
    }

    /// Runs the tests and reads the runner's summary.
    pub fn run(&self, scope: &Scope, events: Events) -> Result<TestReport, ToolError> {
        let command = self.command(scope)?;
        let shown = command.join(" ");
        let run = self.as_run(command);
        // What was shown is what runs.
        if scope.approved.as_ref().is_some_and(|approved| *approved != run.exact()) {
            let what = "the project's test command is another one than was approved";
            return Err(
                ToolError::failed(&scope.tool_name, what).hint("call again, to be asked again")
            );
        }
        let ran = run.keeping(KEPT, scope, events)?;
        let output = [ran.stdout.as_str(), &ran.stderr].concat();
        let Uncut { stdout, stderr } = ran.uncut.clone();
        let printed = Printed::text(stdout.into_text().then(stderr.into_text())).redacted();
        let how = match (find_counts(&output), ran.exit) {
            (Some(counts), _) => {
                let (whole, refusals) = (ran.whole, ran.refusals);
                return Ok(TestReport { counts, printed, whole, refusals });
            }
            (None, exit @ Exit::Code(_)) => {
                format!("`{shown}` ended with {exit} and reported no tests")
            }
            (None, Exit::Signal(signal)) => {
                format!("`{shown}` was ended by signal {signal} and reported no tests")
            }
        };
        // What envelopes add to an error's output is at most its own length.
        let text = printed.in_json(scope.output_limit / 2, ran.whole.as_deref());
        Err(ran.failure(&scope.tool_name, how, text))
    }
}

impl Operation for TestRun {
    const IS_COMMAND: bool = true;

    type Outcome = TestReport;

    fn paths(&self) -> Vec<PathUse> {
        vec![PathUse::new(&self.directory, Use::WorkIn("cwd"))]
    }

    fn command(&self) -> Option<CommandLine> {
        self.command.as_deref().map(CommandLine::of_argv)
    }

    fn preview(&self, scope: &Scope, _: CallSummary<'_>) -> Result<Option<Preview>, ToolError> {
        TestRun::preview(self, scope).map(Some)
    }

    fn shown_command(&self, scope: &Scope) -> Option<ShownCommand> {
        Some(self.as_run(self.command(scope).ok()?).shown())
    }

    fn foresee(&self, _: &Scope) -> Foreseen {
        Foreseen::Unknown
    }

    fn perform(self, execution: Execution<'_>) -> Result<TestReport, ToolError> {
        self.run(execution.scope, execution.events)
    }
}
