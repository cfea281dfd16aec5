//! Changes of one file, whose outcome is that file's.

use jm_types::ToolError;

use super::edit::{Edit, FileEdit};
use super::outcome::ChangedFile;
use super::rules::ChangeRules;
use super::several::Change;
use crate::context::Scope;
use crate::foresight::Foreseen;
use crate::operation::{CallSummary, Execution, Operation};
use crate::tool::{PathUse, Preview};

/// One edit of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SingleChange(Change);

impl SingleChange {
    /// A change of one file with one edit.
    pub fn new(path: impl Into<String>, edit: Edit, rules: ChangeRules) -> Self {
        Self(Change { files: vec![FileEdit { path: path.into(), edit }], rules })
    }
}

impl Operation for SingleChange {
    type Outcome = ChangedFile;
    const PREVIEWS_ITS_FILES: bool = true;

    fn paths(&self) -> Vec<PathUse> {
        self.0.paths()
    }

    fn preview(
        &self,
        scope: &Scope,
        summary: CallSummary<'_>,
    ) -> Result<Option<Preview>, ToolError> {
        self.0.preview(scope, summary)
    }

    fn foresee(&self, scope: &Scope) -> Foreseen {
        self.0.foresee(scope)
    }

    fn perform(self, execution: Execution<'_>) -> Result<ChangedFile, ToolError> {
        let mut files = self.0.run(execution.scope, execution.log)?;
        let tool = &execution.scope.tool_name;
        // Every edit has a file, so there is one.
        files.pop().ok_or_else(|| ToolError::failed(tool, "the change reports no file"))
    }
}

/// The replacement of whole lines of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineChange {
    change: SingleChange,
    first: usize,
    last: usize,
}

/// A file after a [`LineChange`], with the numbers of the lines that were replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedLines {
    /// The first line, from 1.
    pub first: usize,
    /// The last line, included.
    pub last: usize,
    /// The file with its notes.
    pub file: ChangedFile,
}

/// Lines from `first` to `last`, counted from 1, and what stands in their place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineEdit {
    /// From 1.
    pub first: usize,
    /// Included.
    pub last: usize,
    /// The lines that come; empty to delete.
    pub new: Vec<u8>,
    /// The lines as they must still be, where the call says so.
    pub expected: Option<Vec<u8>>,
}

impl From<LineEdit> for Edit {
    fn from(lines: LineEdit) -> Self {
        let LineEdit { first, last, new, expected } = lines;
        Self::Lines { first, last, new, expected }
    }
}

impl LineChange {
    /// A replacement of lines that follows the rules.
    pub fn new(path: impl Into<String>, lines: LineEdit, rules: ChangeRules) -> Self {
        let (first, last) = (lines.first, lines.last);
        Self { change: SingleChange::new(path, lines.into(), rules), first, last }
    }
}

impl Operation for LineChange {
    type Outcome = ChangedLines;
    const PREVIEWS_ITS_FILES: bool = true;

    fn paths(&self) -> Vec<PathUse> {
        self.change.paths()
    }

    fn preview(
        &self,
        scope: &Scope,
        summary: CallSummary<'_>,
    ) -> Result<Option<Preview>, ToolError> {
        self.change.preview(scope, summary)
    }

    fn foresee(&self, scope: &Scope) -> Foreseen {
        self.change.foresee(scope)
    }

    fn perform(self, execution: Execution<'_>) -> Result<ChangedLines, ToolError> {
        let Self { change, first, last } = self;
        Ok(ChangedLines { first, last, file: change.perform(execution)? })
    }
}
