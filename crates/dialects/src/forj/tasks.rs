//! Lists of things to do, answered in JSON.

use jm_tools::Output;
use jm_tools::ops::tasks::{TaskItem, TaskOutcome};
use jm_types::ToolError;
use serde_json::{Value, json};

pub(super) fn raise(outcome: TaskOutcome, room: usize) -> Result<Output, ToolError> {
    Ok(Output::Json(match outcome {
        TaskOutcome::One(item) => json!({"task": item}),
        TaskOutcome::Deleted(id) => json!({"deleted": true, "id": id}),
        TaskOutcome::Many(items) => listed(&items, room),
        TaskOutcome::Exported { path, count } => json!({"path": path, "count": count}),
    }))
}

/// The first tasks, as many as fit.
fn listed(items: &[TaskItem], room: usize) -> Value {
    let mut left = room.saturating_sub(r#"{"tasks":[],"truncated":true}"#.len());
    let fits = |item: &&TaskItem| {
        let length = json!(item).to_string().len() + 1;
        let fits = length <= left;
        left = left.saturating_sub(length);
        fits
    };
    let shown: Vec<&TaskItem> = items.iter().take_while(fits).collect();
    if shown.len() == items.len() {
        return json!({"tasks": shown});
    }
    json!({"tasks": shown, "truncated": true})
}
