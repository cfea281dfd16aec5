//! A task as a person reads it.

use super::item::{TaskItem, TaskStatus};

/// The ids by which a call can speak of things, in an outline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ids {
    /// For a model, which needs them in calls.
    Shown,
    /// For a file that people read.
    Hidden,
}

impl TaskItem {
    /// `[ ] title (marks)`, then a line for each thing it has; no final newline.
    pub fn outline(&self, ids: Ids) -> String {
        let named = |id: &str| match ids {
            Ids::Shown => format!("{id}: "),
            Ids::Hidden => String::new(),
        };
        let mark = if self.status == TaskStatus::Completed { 'x' } else { ' ' };
        let (title, marks) = (line(&self.title), marks(self));
        let mut lines = vec![format!("[{mark}] {}{title}{marks}", named(&self.id))];
        let texts = self.description.iter().chain(&self.note).chain(&self.history);
        lines.extend(texts.map(|text| format!("  - {}", line(text))));
        lines.extend(self.acceptance.iter().map(|one| format!("  - Acceptance: {}", line(one))));
        for subtask in &self.subtasks {
            let mark = if subtask.done { 'x' } else { ' ' };
            lines.push(format!("  - [{mark}] {}{}", named(&subtask.id), line(&subtask.title)));
        }
        lines.join("\n")
    }
}

fn marks(item: &TaskItem) -> String {
    let mut marks = Vec::new();
    if matches!(item.status, TaskStatus::InProgress | TaskStatus::Blocked) {
        marks.push(item.status.name().replace('_', " "));
    }
    marks.extend(item.priority.map(|priority| format!("{} priority", priority.name())));
    marks.extend(
        item.location.iter().chain(&item.links).map(|place| format!("`{}`", place.shown())),
    );
    marks.extend(item.labels.iter().map(|label| format!("#{}", line(label))));
    if marks.is_empty() { String::new() } else { format!(" ({})", marks.join(", ")) }
}

/// A title must not be able to look like another item.
fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
