//! A session's list of steps as a plan that a client shows.

use agent_client_protocol_schema::v1::{Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus};
use serde_json::Value;

/// The plan in lists of tasks (`{"items": [{"title", "status", "priority"}]}`); `None` where there is no step.
pub fn plan_of(lists: &[Value]) -> Option<Plan> {
    let items = lists.iter().filter_map(|list| list["items"].as_array()).flatten();
    let entries: Vec<PlanEntry> = items.filter_map(entry).collect();
    (!entries.is_empty()).then(|| Plan::new(entries))
}

fn entry(item: &Value) -> Option<PlanEntry> {
    let title = item["title"].as_str()?;
    let status = match item["status"].as_str() {
        Some("completed") => PlanEntryStatus::Completed,
        Some("in_progress") => PlanEntryStatus::InProgress,
        _ => PlanEntryStatus::Pending,
    };
    let priority = match item["priority"].as_str() {
        Some("high" | "critical") => PlanEntryPriority::High,
        Some("low") => PlanEntryPriority::Low,
        _ => PlanEntryPriority::Medium,
    };
    Some(PlanEntry::new(title, priority, status))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn open_steps_wait_and_blocked_ones_too() {
        let list = json!({"items": [
            {"title": "a", "status": "open"},
            {"title": "b", "status": "blocked", "priority": "high"},
            {"title": "c", "status": "completed", "priority": "low"},
            {"status": "open"},
        ]});
        let entry = |title: &str, priority, status| PlanEntry::new(title, priority, status);
        let expected = vec![
            entry("a", PlanEntryPriority::Medium, PlanEntryStatus::Pending),
            entry("b", PlanEntryPriority::High, PlanEntryStatus::Pending),
            entry("c", PlanEntryPriority::Low, PlanEntryStatus::Completed),
        ];
        assert_eq!(plan_of(&[Value::Null, list]), Some(Plan::new(expected)));
        assert_eq!(plan_of(&[json!({"items": []})]), None);
    }
}
