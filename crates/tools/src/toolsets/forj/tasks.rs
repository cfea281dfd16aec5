//! Lists of things to do, answered in JSON.

use jm_types::ToolError;
use serde_json::{Value, json};

use super::{Outcome, Output, mismatch};
use crate::ops::tasks::{Item, TasksOutcome};

pub(super) fn raise(outcome: Outcome, room: usize) -> Result<Output, ToolError> {
    match outcome {
        Outcome::Listed(TasksOutcome::One(item)) => Ok(Output::Json(json!({"task": item}))),
        Outcome::Listed(TasksOutcome::Deleted(id)) => {
            Ok(Output::Json(json!({"deleted": true, "id": id})))
        }
        Outcome::Listed(TasksOutcome::Many(items)) => Ok(Output::Json(listed(&items, room))),
        Outcome::Exported(exported) => {
            Ok(Output::Json(json!({"path": exported.path, "count": exported.count})))
        }
        other => Err(mismatch("task", &other)),
    }
}

/// As many as fit.
fn listed(items: &[Item], room: usize) -> Value {
    let mut left = room.saturating_sub(r#"{"tasks":[],"truncated":true}"#.len());
    let fits = |item: &&Item| {
        let length = json!(item).to_string().len() + 1;
        let fits = length <= left;
        left = left.saturating_sub(length);
        fits
    };
    let shown: Vec<&Item> = items.iter().take_while(fits).collect();
    match shown.len() == items.len() {
        true => json!({"tasks": shown}),
        false => json!({"tasks": shown, "truncated": true}),
    }
}
