//! The two lists of a session, and the notes of the project state that keep them.

use jm_types::ToolError;
use serde::{Deserialize, Serialize};

use super::item::{TaskItem, TaskStatus};
use crate::context::Scope;

/// More than this is no plan.
pub(super) const MOST_ITEMS: usize = 2000;

/// Two lists that do not mix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Board {
    /// Small things to remember.
    Todo,
    /// Work with a life of its own.
    Work,
}

/// A session's list, as it is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct List {
    /// Numbers are never given twice.
    pub(super) last: u64,
    pub(super) items: Vec<TaskItem>,
}

impl Board {
    /// The states that its items can be in.
    pub fn statuses(self) -> &'static [TaskStatus] {
        match self {
            Board::Todo => &[TaskStatus::Open, TaskStatus::Completed],
            Board::Work => &[
                TaskStatus::Open,
                TaskStatus::InProgress,
                TaskStatus::Blocked,
                TaskStatus::Completed,
            ],
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Board::Todo => "todo",
            Board::Work => "task",
        }
    }

    pub(super) fn load(self, scope: &Scope) -> Result<List, ToolError> {
        let text = scope.workspace.state.note(&scope.session_id, self.name())?;
        let parsed = text.map(|text| serde_json::from_str(&text)).transpose();
        parsed
            .map(Option::unwrap_or_default)
            .map_err(|error| ToolError::io(format!("the session's {} list", self.name()), error))
    }

    pub(super) fn save(self, scope: &Scope, list: &List) -> Result<(), ToolError> {
        let text = serde_json::to_string(list)
            .map_err(|error| ToolError::failed(&scope.tool_name, error.to_string()))?;
        scope.workspace.state.write_note(&scope.session_id, self.name(), &text)
    }
}
