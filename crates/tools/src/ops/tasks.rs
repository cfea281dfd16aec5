//! Tasks: what a session means to do, written down outside the project (FJ-TODO, FJ-TASK).
//!
//! Law: nothing here writes into the project. An export is a `Change` like any other, computed from
//! the tasks at the moment it runs.

mod action;
mod export;
mod item;
mod outline;
#[cfg(test)]
mod tests;

use jm_types::ToolError;
use jm_workspace::file::now_epoch_ms;
use serde::{Deserialize, Serialize};

use crate::context::Scope;
pub use action::{Action, Draft, Filter};
pub use export::{Export, Exported};
pub use item::{Item, Place, Priority, Status, Subtask};
pub use outline::Ids;

/// More than this is no plan.
const MOST_ITEMS: usize = 2000;

/// Two lists that do not mix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Board {
    /// Small things to remember.
    Todo,
    /// Work with a life of its own.
    Work,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tasks {
    pub board: Board,
    pub action: Action,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TasksOutcome {
    One(Box<Item>),
    Many(Vec<Item>),
    Deleted(String),
}

/// A session's list, as it is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct List {
    /// Numbers are never given twice.
    last: u64,
    items: Vec<Item>,
}

impl Board {
    /// The states that its items can be in.
    pub fn statuses(self) -> &'static [Status] {
        match self {
            Board::Todo => &[Status::Open, Status::Completed],
            Board::Work => &[Status::Open, Status::InProgress, Status::Blocked, Status::Completed],
        }
    }

    fn name(self) -> &'static str {
        match self {
            Board::Todo => "todo",
            Board::Work => "task",
        }
    }

    fn load(self, scope: &Scope) -> Result<List, ToolError> {
        let text = scope.workspace.state.note(&scope.session_id, self.name())?;
        let parsed = text.map(|text| serde_json::from_str(&text)).transpose();
        parsed
            .map(Option::unwrap_or_default)
            .map_err(|error| ToolError::io(format!("the session's {} list", self.name()), error))
    }

    fn save(self, scope: &Scope, list: &List) -> Result<(), ToolError> {
        let text = serde_json::to_string(list)
            .map_err(|error| ToolError::failed(&scope.tool_name, error.to_string()))?;
        scope.workspace.state.write_note(&scope.session_id, self.name(), &text)
    }
}

impl Tasks {
    pub fn run(&self, scope: &Scope) -> Result<TasksOutcome, ToolError> {
        self.check_places(scope)?;
        let mut list = self.board.load(scope)?;
        let outcome = list.apply(self.board, &self.action, now_epoch_ms() / 1000)?;
        if !matches!(self.action, Action::List(_)) {
            self.board.save(scope, &list)?;
        }
        Ok(outcome)
    }

    /// A place that one cannot go to is not noted.
    fn check_places(&self, scope: &Scope) -> Result<(), ToolError> {
        for place in self.action.places() {
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
}
