//! Lists of things to do, as calls ask for them (FJ-TODO, FJ-TASK). How answers look is each set's own.

use jm_types::{Limits, ToolError};
use serde::Deserialize;
use serde_json::Value;

use super::args::parse_args;
use super::lowered::{Lowered, Stakes};
use crate::ops::tasks::{
    Board, CodePlace, Draft, Filter, Priority, TaskAction, TaskCall, TaskExport, TaskStatus,
};

/// The arguments of both tools; each has its own actions.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Args {
    action: String,
    title: Option<String>,
    note: Option<String>,
    description: Option<String>,
    acceptance: Option<Vec<String>>,
    id: Option<String>,
    location: Option<CodePlace>,
    links: Option<Vec<CodePlace>>,
    labels: Option<Vec<String>>,
    priority: Option<Priority>,
    status: Option<TaskStatus>,
    subtask: GivenSubtask,
    filter: GivenFilter,
    export_path: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct GivenSubtask {
    id: Option<String>,
    title: Option<String>,
    done: Option<bool>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct GivenFilter {
    status: Option<String>,
    label: Option<String>,
    path: Option<String>,
}

/// Parses a call about the list `todo`.
pub fn lower_todo(args: Value, _: &Limits) -> Result<Lowered<TaskCall>, ToolError> {
    lower(Board::Todo, parse_args(args)?, "docs/TODO.md")
}

/// Parses a call about the list of work.
pub fn lower_task(args: Value, _: &Limits) -> Result<Lowered<TaskCall>, ToolError> {
    lower(Board::Work, parse_args(args)?, "docs/roadmap.md")
}

fn lower(board: Board, args: Args, export_path: &str) -> Result<Lowered<TaskCall>, ToolError> {
    let name = args.action.clone();
    if name == "export" {
        let path = args.export_path.unwrap_or_else(|| export_path.to_owned());
        let summary = format!("Export the tasks to {path}");
        let export = TaskCall::Export(TaskExport { board, path });
        return Ok(Lowered::new(export, summary).at_stake(Stakes::GATED_CHANGES));
    }
    let action = Box::new(args.action(board)?);
    let summary = format!("Tasks: {name}");
    Ok(Lowered::new(TaskCall::Act { board, action }, summary).at_stake(Stakes::READS))
}

impl Args {
    fn action(self, board: Board) -> Result<TaskAction, ToolError> {
        let name = self.action.clone();
        let id = || needed(&name, "id", self.id.clone());
        let set = |status| Ok(TaskAction::SetStatus { id: id()?, status });
        match (name.as_str(), board) {
            ("create", _) => {
                let title = needed(&name, "title", self.title.clone())?;
                Ok(TaskAction::Create { title, draft: self.draft(board) })
            }
            ("update", _) => {
                let id = id()?;
                not_blank("title", self.title.as_deref())?;
                Ok(TaskAction::Update { id, draft: self.draft(board) })
            }
            ("complete", _) => set(TaskStatus::Completed),
            ("reopen", _) => set(TaskStatus::Open),
            ("delete", _) => Ok(TaskAction::Delete { id: id()? }),
            ("list", _) => self.filter.checked(board).map(TaskAction::List),
            ("set_status", Board::Work) => match self.status {
                Some(status) => set(status),
                None => Err(missing(&name, "status")),
            },
            ("add_subtask", Board::Work) => {
                let title = needed(&name, "subtask.title", self.subtask.title.clone())?;
                not_blank("subtask.id", self.subtask.id.as_deref())?;
                let (own_id, done) = (self.subtask.id.clone(), self.subtask.done.unwrap_or(false));
                Ok(TaskAction::AddSubtask { id: id()?, own_id, title, done })
            }
            ("update_subtask", Board::Work) => {
                let subtask = needed(&name, "subtask.id", self.subtask.id.clone())?;
                not_blank("subtask.title", self.subtask.title.as_deref())?;
                let GivenSubtask { title, done, .. } = &self.subtask;
                let (title, done) = (title.clone(), *done);
                Ok(TaskAction::UpdateSubtask { id: id()?, subtask, title, done })
            }
            ("add_note", Board::Work) => Ok(TaskAction::AddNote {
                id: id()?,
                note: needed(&name, "note", self.note.clone())?,
            }),
            _ => Err(ToolError::bad_args(format!("unknown action `{name}`"))),
        }
    }

    fn draft(self, board: Board) -> Draft {
        let draft = Draft { title: self.title, labels: self.labels, ..Draft::default() };
        match board {
            Board::Todo => Draft { note: self.note, location: self.location, ..draft },
            Board::Work => Draft {
                description: self.description,
                acceptance: self.acceptance,
                priority: self.priority,
                status: self.status,
                links: self.links,
                ..draft
            },
        }
    }
}

impl GivenFilter {
    fn checked(self, board: Board) -> Result<Filter, ToolError> {
        let status = self.status.map(|name| status_named(&name, board)).transpose()?;
        Ok(Filter { status, label: self.label, path: self.path })
    }
}

/// The status of that name, among those that the items of a board can have.
fn status_named(name: &str, board: Board) -> Result<TaskStatus, ToolError> {
    let known = board.statuses();
    known.iter().copied().find(|status| status.name() == name).ok_or_else(|| {
        let known: Vec<String> = known.iter().map(|one| format!("\"{}\"", one.name())).collect();
        let known = known.join(", ");
        ToolError::bad_args(format!("filter.status: \"{name}\" is not one of {known}"))
    })
}

/// Absent, or something that can be read.
fn not_blank(name: &str, value: Option<&str>) -> Result<(), ToolError> {
    match value {
        Some(value) if value.trim().is_empty() => {
            Err(ToolError::bad_args(format!("`{name}` must not be blank")))
        }
        Some(_) | None => Ok(()),
    }
}

/// Present and not blank.
fn needed(action: &str, name: &str, value: Option<String>) -> Result<String, ToolError> {
    value.filter(|value| !value.trim().is_empty()).ok_or_else(|| missing(action, name))
}

fn missing(action: &str, name: &str) -> ToolError {
    ToolError::bad_args(format!("`{action}` needs `{name}`"))
}
