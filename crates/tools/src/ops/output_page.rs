//! A page of a file, or of an output that was kept whole for this very purpose (FL-EXEC).
//!
//! Law: what is written like the path of an output is that or an error, never a file of the workspace, since no rule
//! for paths was asked.

use std::io::{ErrorKind, Read};

use jm_files::names_kept_output;
use jm_types::ToolError;

use crate::context::Scope;
use crate::foresight::Foreseen;
use crate::operation::{Execution, Operation};
use crate::ops::page::{Page, PageOutcome};
use crate::tool::PathUse;

/// A page of a workspace file, or of the kept output of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PageOrOutput {
    /// Of a file beneath the workspace root.
    File(Page),
    /// Of a kept output, which lies outside the workspace.
    Output(Page),
}

impl PageOrOutput {
    /// Chooses by the path: the names of kept outputs are fixed.
    pub fn new(page: Page) -> Self {
        if names_kept_output(&page.path) { Self::Output(page) } else { Self::File(page) }
    }
}

impl Operation for PageOrOutput {
    type Outcome = PageOutcome;

    fn paths(&self) -> Vec<PathUse> {
        match self {
            Self::File(page) => page.paths(),
            Self::Output(_) => Vec::new(),
        }
    }

    fn foresee(&self, scope: &Scope) -> Foreseen {
        match self {
            Self::File(page) => page.foresee(scope),
            Self::Output(_) => Foreseen::NOTHING,
        }
    }

    fn perform(self, execution: Execution<'_>) -> Result<PageOutcome, ToolError> {
        match self {
            Self::File(page) => page.perform(execution),
            Self::Output(page) => read_output(&page, execution.scope),
        }
    }
}

fn read_output(page: &Page, scope: &Scope) -> Result<PageOutcome, ToolError> {
    let mut file = scope.workspace.state.open_output(&page.path)?;
    let failed = |error| ToolError::io(&page.path, error);
    let size = file.metadata().map_err(failed)?.len();
    let read = |buffer: &mut [u8]| loop {
        match file.read(buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            read => return read.map_err(failed),
        }
    };
    page.collect(&page.path, size, scope, read).map(|(page, _)| page)
}
