//! Lines that a call names by their numbers, from 1 and both ends included.

use jm_types::ToolError;
use serde::Deserialize;

use crate::ops::change::{ChangeRules, FileEdit, LineChange, LineEdit};

/// Refuses a range that counts from 0 or runs backwards.
pub fn check_line_range(start: u64, end: Option<u64>) -> Result<(), ToolError> {
    match end {
        _ if start == 0 || end == Some(0) => Err(ToolError::bad_args("lines are counted from 1")),
        Some(end) if start > end => {
            Err(ToolError::bad_args(format!("start_line {start} is after end_line {end}")))
        }
        _ => Ok(()),
    }
}

/// Lines of a file, and what shall stand in their place.
#[derive(Debug, Deserialize)]
pub struct Region {
    /// As the call spells it.
    pub path: String,
    /// The first line, from 1.
    pub start_line: usize,
    /// The last line, included.
    pub end_line: usize,
    /// The lines that take their place.
    pub new_content: String,
    /// The lines as they must still be.
    pub expected: Option<String>,
}

/// The arguments of `edit_region`.
#[derive(Debug, Deserialize)]
pub struct EditRegion {
    /// The lines and their replacement.
    #[serde(flatten)]
    pub region: Region,
    /// True shows the diff and writes nothing.
    #[serde(default)]
    pub dry_run: bool,
}

impl Region {
    /// The lines for a summary.
    pub fn summary(&self) -> String {
        format!("lines {}-{} of {}", self.start_line, self.end_line, self.path)
    }

    /// The edit alone, as one of several.
    pub fn edit(self) -> Result<FileEdit, ToolError> {
        let (path, lines) = self.checked()?;
        Ok(FileEdit { path, edit: lines.into() })
    }

    /// A change of these lines and nothing else.
    pub fn change(self, rules: ChangeRules) -> Result<LineChange, ToolError> {
        let (path, lines) = self.checked()?;
        Ok(LineChange::new(path, lines, rules))
    }

    fn checked(self) -> Result<(String, LineEdit), ToolError> {
        check_line_range(self.start_line as u64, Some(self.end_line as u64))?;
        let lines = LineEdit {
            first: self.start_line,
            last: self.end_line,
            new: self.new_content.into_bytes(),
            expected: self.expected.map(String::into_bytes),
        };
        Ok((self.path, lines))
    }
}
