//! One task, as it is kept and shown.

use jm_types::ToolError;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskItem {
    pub id: String,
    pub title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acceptance: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subtasks: Vec<Subtask>,
    pub status: TaskStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<CodePlace>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<CodePlace>,
    /// Seconds since the epoch, like the next.
    pub created_at: u64,
    pub updated_at: u64,
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

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subtask {
    pub id: String,
    pub title: String,
    pub done: bool,
}

/// A file, and lines in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodePlace {
    pub path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_line: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    Open,
    InProgress,
    Blocked,
    Completed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    Low,
    Medium,
    High,
    Critical,
}

impl TaskStatus {
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
