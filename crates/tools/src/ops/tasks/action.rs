//! Actions on a list of tasks, and their outcomes; pure.

use jm_types::ToolError;

use super::item::{CodePlace, Priority, Subtask, TaskItem, TaskStatus};
use super::task_lists::{Board, List, MOST_ITEMS};

/// A change of a list, or a look at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskAction {
    /// A new task.
    Create {
        /// One line.
        title: String,
        /// The other fields.
        draft: Draft,
    },
    /// Other fields of a task.
    Update {
        /// The task.
        id: String,
        /// The fields that change.
        draft: Draft,
    },
    /// Another status.
    SetStatus {
        /// The task.
        id: String,
        /// The new status.
        status: TaskStatus,
    },
    /// `own_id` is the subtask's, where the call gives one.
    AddSubtask {
        /// The task.
        id: String,
        /// The id that the call wishes for.
        own_id: Option<String>,
        /// One line.
        title: String,
        /// True for one that is done already.
        done: bool,
    },
    /// Other fields of a subtask.
    UpdateSubtask {
        /// The task.
        id: String,
        /// The subtask.
        subtask: String,
        /// A new title.
        title: Option<String>,
        /// A new state.
        done: Option<bool>,
    },
    /// A line of the task's history.
    AddNote {
        /// The task.
        id: String,
        /// One line.
        note: String,
    },
    /// Removes a task.
    Delete {
        /// The task.
        id: String,
    },
    /// Looks at the tasks that fit.
    List(Filter),
}

/// The outcome of a call that works on tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskOutcome {
    /// The task after the change.
    One(Box<TaskItem>),
    /// The tasks that fit.
    Many(Vec<TaskItem>),
    /// The id of the task that is gone.
    Deleted(String),
    /// The file was written.
    Exported {
        /// As the call spells it.
        path: String,
        /// Tasks in it.
        count: usize,
    },
}

/// The fields that a call gives of a task; the rest stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Draft {
    /// One line.
    pub title: Option<String>,
    /// A remark.
    pub note: Option<String>,
    /// Several lines.
    pub description: Option<String>,
    /// Conditions of completion.
    pub acceptance: Option<Vec<String>>,
    /// The place in the code.
    pub location: Option<CodePlace>,
    /// Words to filter by.
    pub labels: Option<Vec<String>>,
    /// The urgency.
    pub priority: Option<Priority>,
    /// The progress.
    pub status: Option<TaskStatus>,
    /// Further places in the code.
    pub links: Option<Vec<CodePlace>>,
}

/// All that are given must hold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// The progress.
    pub status: Option<TaskStatus>,
    /// One of the labels.
    pub label: Option<String>,
    /// The file of the location.
    pub path: Option<String>,
}

impl TaskAction {
    pub(crate) fn places(&self) -> Vec<&CodePlace> {
        match self {
            TaskAction::Create { draft, .. } | TaskAction::Update { draft, .. } => {
                draft.location.iter().chain(draft.links.iter().flatten()).collect()
            }
            TaskAction::SetStatus { .. }
            | TaskAction::AddSubtask { .. }
            | TaskAction::UpdateSubtask { .. }
            | TaskAction::AddNote { .. }
            | TaskAction::Delete { .. }
            | TaskAction::List(_) => Vec::new(),
        }
    }
}

impl List {
    pub(super) fn apply(
        &mut self,
        board: Board,
        action: &TaskAction,
        now: u64,
    ) -> Result<TaskOutcome, ToolError> {
        match action {
            TaskAction::Create { title, draft } => self.create(board, title, draft, now),
            TaskAction::Update { id, draft } => self.change(id, now, |item| {
                draft.apply(item);
                Ok(())
            }),
            TaskAction::SetStatus { id, status } => self.change(id, now, |item| {
                item.status = *status;
                Ok(())
            }),
            TaskAction::AddSubtask { id, own_id, title, done } => self.change(id, now, |item| {
                let id = item.subtask_id(own_id.as_deref())?;
                item.subtasks.push(Subtask { id, title: title.clone(), done: *done });
                Ok(())
            }),
            TaskAction::UpdateSubtask { id, subtask, title, done } => {
                self.change(id, now, |item| {
                    let unknown =
                        || ToolError::bad_args(format!("{} has no subtask `{subtask}`", item.id));
                    let at = item
                        .subtasks
                        .iter()
                        .position(|one| one.id == *subtask)
                        .ok_or_else(unknown)?;
                    let one = &mut item.subtasks[at];
                    one.title = title.clone().unwrap_or_else(|| one.title.clone());
                    one.done = done.unwrap_or(one.done);
                    Ok(())
                })
            }
            TaskAction::AddNote { id, note } => self.change(id, now, |item| {
                item.history.push(note.clone());
                Ok(())
            }),
            TaskAction::Delete { id } => {
                let at = self.position(id)?;
                self.items.remove(at);
                Ok(TaskOutcome::Deleted(id.clone()))
            }
            TaskAction::List(filter) => {
                let items = self.items.iter().filter(|item| filter.admits(item)).cloned();
                Ok(TaskOutcome::Many(items.collect()))
            }
        }
    }

    fn create(
        &mut self,
        board: Board,
        title: &str,
        draft: &Draft,
        now: u64,
    ) -> Result<TaskOutcome, ToolError> {
        if self.items.len() >= MOST_ITEMS {
            return Err(ToolError::limit(format!("there are {MOST_ITEMS} tasks already"))
                .hint("delete what is done"));
        }
        self.last += 1;
        let mut item = TaskItem {
            id: format!("{}-{}", board.name(), self.last),
            title: title.to_owned(),
            note: None,
            description: None,
            acceptance: Vec::new(),
            subtasks: Vec::new(),
            status: TaskStatus::Open,
            location: None,
            labels: Vec::new(),
            priority: None,
            links: Vec::new(),
            created_at: now,
            updated_at: now,
            history: Vec::new(),
        };
        draft.apply(&mut item);
        self.items.push(item.clone());
        Ok(TaskOutcome::One(Box::new(item)))
    }

    fn change(
        &mut self,
        id: &str,
        now: u64,
        change: impl FnOnce(&mut TaskItem) -> Result<(), ToolError>,
    ) -> Result<TaskOutcome, ToolError> {
        let at = self.position(id)?;
        let item = &mut self.items[at];
        change(item)?;
        item.updated_at = now;
        Ok(TaskOutcome::One(Box::new(item.clone())))
    }

    fn position(&self, id: &str) -> Result<usize, ToolError> {
        self.items.iter().position(|item| item.id == id).ok_or_else(|| {
            let error = ToolError::bad_args(format!("no task `{id}`"));
            let known: Vec<&str> =
                self.items.iter().take(10).map(|item| item.id.as_str()).collect();
            if known.is_empty() {
                return error.hint("create one first");
            }
            error.hint(format!("known: {}", known.join(", ")))
        })
    }
}

impl Draft {
    fn apply(&self, item: &mut TaskItem) {
        fn put<T: Clone>(place: &mut T, given: &Option<T>) {
            if let Some(value) = given {
                *place = value.clone();
            }
        }
        fn put_some<T: Clone>(place: &mut Option<T>, given: &Option<T>) {
            if given.is_some() {
                place.clone_from(given);
            }
        }
        put(&mut item.title, &self.title);
        put(&mut item.acceptance, &self.acceptance);
        put(&mut item.labels, &self.labels);
        put(&mut item.links, &self.links);
        put(&mut item.status, &self.status);
        put_some(&mut item.note, &self.note);
        put_some(&mut item.description, &self.description);
        put_some(&mut item.location, &self.location);
        put_some(&mut item.priority, &self.priority);
    }
}

impl Filter {
    fn admits(&self, item: &TaskItem) -> bool {
        let places = || item.location.iter().chain(&item.links);
        self.status.is_none_or(|status| item.status == status)
            && self.label.as_ref().is_none_or(|label| item.labels.contains(label))
            && self.path.as_ref().is_none_or(|path| places().any(|place| place.path == *path))
    }
}
