//! Lists of things to do, answered in lines.

use jm_types::ToolError;

use crate::ops::tasks::{Ids, TaskItem, TaskOutcome, TaskStatus};
use crate::tool::Output;

pub(super) fn raise(outcome: TaskOutcome, _: usize) -> Result<Output, ToolError> {
    Ok(Output::Text(match outcome {
        TaskOutcome::One(item) => item.outline(Ids::Shown),
        TaskOutcome::Deleted(id) => format!("Deleted {id}"),
        TaskOutcome::Many(items) => listed(&items),
        TaskOutcome::Exported { path, count } => format!("Wrote {count} task(s) to {path}"),
    }))
}

fn listed(items: &[TaskItem]) -> String {
    if items.is_empty() {
        return "No tasks; the action `create` adds one.".to_owned();
    }
    let done = items.iter().filter(|item| item.status == TaskStatus::Completed).count();
    let mut lines: Vec<String> = items.iter().map(|item| item.outline(Ids::Shown)).collect();
    lines.push(format!("[{done} of {} completed]", items.len()));
    lines.join("\n")
}
