//! A list of tasks as a file of the project: a change like any other.

use jm_files::CommitLog;
use jm_types::ToolError;
use jm_types::text::redact;

use super::action::TaskOutcome;
use super::item::TaskItem;
use super::outline::Ids;
use super::task_lists::{Board, List};
use crate::context::Scope;
use crate::operation::{CallSummary, Operation};
use crate::ops::change::{
    Backup, Care, Change, ChangeRules, Edit, Existing, FileEdit, FreshnessRule,
};
use crate::tool::Preview;

/// A list that becomes a Markdown file of the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskExport {
    /// The list.
    pub board: Board,
    /// As the call spells it.
    pub path: String,
}

impl TaskExport {
    /// The diff of the file that the list would be written to.
    pub fn preview(
        &self,
        scope: &Scope,
        summary: CallSummary<'_>,
    ) -> Result<Option<Preview>, ToolError> {
        self.change(&self.board.load(scope)?).preview(scope, summary)
    }

    /// Writes the file, as a change like any other.
    pub fn run(&self, scope: &Scope, log: &mut dyn CommitLog) -> Result<TaskOutcome, ToolError> {
        let list = self.board.load(scope)?;
        self.change(&list).run(scope, log)?;
        Ok(TaskOutcome::Exported { path: self.path.clone(), count: list.items.len() })
    }

    fn change(&self, list: &List) -> Change {
        let content = render(self.board, list).into_bytes();
        let edit = Edit::Whole { content, existing: Existing::Replace };
        let files = vec![FileEdit { path: self.path.clone(), edit }];
        let rules = ChangeRules::new(FreshnessRule::NotRequired);
        Change { files, rules: ChangeRules { backup: Backup::Keep, care: Care::Careful, ..rules } }
    }
}

/// Markdown, without what looks like a secret.
pub(super) fn render(board: Board, list: &List) -> String {
    let heading = match board {
        Board::Todo => "# To do\n",
        Board::Work => "# Roadmap\n",
    };
    let item = |item: &TaskItem| format!("- {}\n", item.outline(Ids::Hidden));
    let items: Vec<String> = list.items.iter().map(item).collect();
    redact(&format!("{heading}\n{}", items.concat()))
}
