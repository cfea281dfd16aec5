//! One task, as it is kept and shown.

use jm_types::ToolError;
use serde::{Deserialize, Serialize};

/// One task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskItem {
    /// The name that calls use.
    pub id: String,
    /// One line.
    pub title: String,
    /// A remark.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Several lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Conditions of completion.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acceptance: Vec<String>,
    /// Steps, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subtasks: Vec<Subtask>,
    /// The progress.
    pub status: TaskStatus,
    /// The place in the code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<CodePlace>,
    /// Words to filter by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// The urgency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// Further places in the code.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<CodePlace>,
    /// Seconds since the epoch, like the next.
    pub created_at: u64,
    /// Seconds since the epoch of the last change.
    pub updated_at: u64,
    /// Notes in the order of writing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<String>,
}

impl TaskItem {
    /// The id of a new subtask: the one that is wished for, or the next number.
    pub(super) fn subtask_id(&self, wished: Option<&str>) -> Result<String, ToolError> {
        match wished {
            Some(id) if self.subtasks.iter().any(|one| one.id == id) => {
                Err(ToolError::bad_args(format!("{} has a subtask `{id}` already", self.id)))
            }
            Some(id) => Ok(id.to_owned()),
            None => {
                let last = self.subtasks.iter().filter_map(|one| one.id.parse::<u64>().ok()).max();
                Ok((last.unwrap_or(0) + 1).to_string())
            }
        }
    }
}

/// One step of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subtask {
    /// The name that calls use.
    pub id: String,
    /// One line.
    pub title: String,
    /// True once it is done.
    pub done: bool,
}

/// A file, and lines in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodePlace {
    /// Relative to the workspace root.
    pub path: String,
    /// From 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_line: Option<u64>,
}

/// The progress of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// Not begun.
    Open,
    /// Begun.
    InProgress,
    /// Waits for something else.
    Blocked,
    /// Done.
    Completed,
}

/// The urgency of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// Can wait.
    Low,
    /// The usual one.
    Medium,
    /// Soon.
    High,
    /// Before everything else.
    Critical,
}

impl TaskStatus {
    /// The name in arguments and outlines.
    pub fn name(self) -> &'static str {
        match self {
            TaskStatus::Open => "open",
            TaskStatus::InProgress => "in_progress",
            TaskStatus::Blocked => "blocked",
            TaskStatus::Completed => "completed",
        }
    }
}

impl Priority {
    /// The name in arguments and outlines.
    pub fn name(self) -> &'static str {
        match self {
            Priority::Low => "low",
            Priority::Medium => "medium",
            Priority::High => "high",
            Priority::Critical => "critical",
        }
    }
}

impl CodePlace {
    /// `src/a.rs:5-7`
    pub fn shown(&self) -> String {
        match (self.line, self.end_line) {
            (None, _) => self.path.clone(),
            (Some(line), None) => format!("{}:{line}", self.path),
            (Some(line), Some(end)) => format!("{}:{line}-{end}", self.path),
        }
    }
}
