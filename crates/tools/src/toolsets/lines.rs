//! Lines that a call names by their numbers, from 1 and both ends included.

use jm_types::ToolError;
use serde::Deserialize;

use crate::ops::change::{Edit, FileEdit};

pub(super) fn check(start: u64, end: Option<u64>) -> Result<(), ToolError> {
    match end {
        _ if start == 0 || end == Some(0) => Err(ToolError::bad_args("lines are counted from 1")),
        Some(end) if start > end => {
            Err(ToolError::bad_args(format!("start_line {start} is after end_line {end}")))
        }
        _ => Ok(()),
    }
}

/// Lines of a file, and what shall stand in their place.
#[derive(Deserialize)]
pub(super) struct Region {
    pub(super) path: String,
    pub(super) start_line: usize,
    pub(super) end_line: usize,
    pub(super) new_content: String,
    pub(super) expected: Option<String>,
}

/// The arguments of `edit_region`.
#[derive(Deserialize)]
pub(super) struct EditRegion {
    #[serde(flatten)]
    pub(super) region: Region,
    #[serde(default)]
    pub(super) dry_run: bool,
}

impl Region {
    pub(super) fn summary(&self) -> String {
        format!("lines {}-{} of {}", self.start_line, self.end_line, self.path)
    }

    pub(super) fn edit(self) -> Result<FileEdit, ToolError> {
        check(self.start_line as u64, Some(self.end_line as u64))?;
        let edit = Edit::Lines {
            first: self.start_line,
            last: self.end_line,
            new: self.new_content.into_bytes(),
            expected: self.expected.map(String::into_bytes),
        };
        Ok(FileEdit { path: self.path, edit })
    }
}
