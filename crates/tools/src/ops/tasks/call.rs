//! The calls that work on lists of tasks, and their outcomes.

use jm_system::clock::now_epoch_ms;
use jm_types::ToolError;

use super::action::{TaskAction, TaskOutcome};
use super::export::TaskExport;
use super::task_lists::Board;
use crate::context::Scope;
use crate::foresight::Foreseen;
use crate::operation::{CallSummary, Execution, Operation};
use crate::tool::{PathUse, Preview, Use};

/// Something to do with a list of tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskCall {
    /// Reads or changes the list, which is kept outside the project.
    Act {
        /// The list.
        board: Board,
        /// The change or look.
        action: Box<TaskAction>,
    },
    /// Writes the list into a file of the project.
    Export(TaskExport),
}

impl Operation for TaskCall {
    type Outcome = TaskOutcome;

    fn paths(&self) -> Vec<PathUse> {
        match self {
            Self::Act { action, .. } => {
                let places = action.places().into_iter();
                places.map(|place| PathUse::new(&place.path, Use::Read)).collect()
            }
            Self::Export(export) => vec![PathUse::new(&export.path, Use::Write)],
        }
    }

    fn preview(
        &self,
        scope: &Scope,
        summary: CallSummary<'_>,
    ) -> Result<Option<Preview>, ToolError> {
        match self {
            Self::Act { .. } => Ok(None),
            Self::Export(export) => export.preview(scope, summary),
        }
    }

    fn foresee(&self, _: &Scope) -> Foreseen {
        match self {
            Self::Act { .. } => Foreseen::NOTHING,
            Self::Export(_) => Foreseen::Unknown,
        }
    }

    fn perform(self, execution: Execution<'_>) -> Result<TaskOutcome, ToolError> {
        match self {
            Self::Act { board, action } => act(board, &action, execution.scope),
            Self::Export(export) => export.run(execution.scope, execution.log),
        }
    }
}

fn act(board: Board, action: &TaskAction, scope: &Scope) -> Result<TaskOutcome, ToolError> {
    check_places(action, scope)?;
    let mut list = board.load(scope)?;
    let outcome = list.apply(board, action, now_epoch_ms() / 1000)?;
    if !matches!(action, TaskAction::List(_)) {
        board.save(scope, &list)?;
    }
    Ok(outcome)
}

/// A place that one cannot go to is not noted.
fn check_places(action: &TaskAction, scope: &Scope) -> Result<(), ToolError> {
    for place in action.places() {
        let path = scope.workspace.sandbox.resolve(&place.path)?;
        if path.is_missing() {
            return Err(ToolError::bad_args(format!("{} does not exist", place.path)));
        }
        if let (Some(line), Some(end)) = (place.line, place.end_line)
            && end < line
        {
            return Err(ToolError::bad_args(format!("end_line {end} is before line {line}")));
        }
    }
    Ok(())
}
