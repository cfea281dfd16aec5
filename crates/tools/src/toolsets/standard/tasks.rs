//! Lists of things to do, answered in lines.

use jm_types::ToolError;

use super::{Outcome, Output, mismatch};
use crate::ops::tasks::{Exported, Ids, Item, Status, TasksOutcome};

pub(super) fn raise(outcome: Outcome, _: usize) -> Result<Output, ToolError> {
    let text = match outcome {
        Outcome::Listed(TasksOutcome::One(item)) => item.outline(Ids::Shown),
        Outcome::Listed(TasksOutcome::Deleted(id)) => format!("Deleted {id}"),
        Outcome::Listed(TasksOutcome::Many(items)) => listed(&items),
        Outcome::Exported(Exported { path, count }) => format!("Wrote {count} task(s) to {path}"),
        other => return Err(mismatch("task", &other)),
    };
    Ok(Output::Text(text))
}

fn listed(items: &[Item]) -> String {
    if items.is_empty() {
        return "No tasks; the action `create` adds one.".to_owned();
    }
    let done = items.iter().filter(|item| item.status == Status::Completed).count();
    let mut lines: Vec<String> = items.iter().map(|item| item.outline(Ids::Shown)).collect();
    lines.push(format!("[{done} of {} completed]", items.len()));
    lines.join("\n")
}
