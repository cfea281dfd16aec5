//! A toolset as data: its tools, its envelope, its spellings of paths.

use std::time::Duration;

use jm_files::PathPolicy;
use jm_types::{ToolError, Toolset};

use super::envelope::{CallRef, Envelope};
use super::row::{Row, Timeouts};
use crate::tool::{Output, ToolExecutor};

/// A toolset's implementation.
#[derive(Debug)]
pub struct Dialect {
    /// Its name in configuration.
    pub toolset: Toolset,
    /// Its own tools.
    pub rows: &'static [Row],
    /// Tools of other sets that this one has too, by name.
    pub borrowed: &'static [(&'static Dialect, &'static [&'static str])],
    /// The form of its answers.
    pub envelope: Envelope,
    /// The spellings of paths that the set's document accepts.
    pub paths: PathPolicy,
    /// The longest that any tool may take, where the document says so.
    pub timeout: Option<Duration>,
}

impl Dialect {
    /// All its tools, its own and the borrowed ones.
    pub fn tools(&'static self, timeouts: &Timeouts) -> Vec<Box<dyn ToolExecutor>> {
        let within = |time: Duration| self.timeout.map_or(time, |most| time.min(most));
        let timeouts = Timeouts {
            file_operations: within(timeouts.file_operations),
            shell_commands: within(timeouts.shell_commands),
        };
        self.all_rows().map(|row| row.tool(&self.envelope, &timeouts)).collect()
    }

    /// The rows of all its tools, its own and the borrowed ones.
    pub fn all_rows(&'static self) -> impl Iterator<Item = &'static Row> {
        let lent = |(lender, names): &(&'static Dialect, &'static [&'static str])| {
            let (rows, names) = (lender.rows, *names);
            rows.iter().filter(move |row| names.contains(&row.name))
        };
        self.rows.iter().chain(self.borrowed.iter().flat_map(lent))
    }

    /// Puts a success into the envelope, within `limit`.
    pub fn success(&self, call: CallRef<'_>, output: Output, limit: usize) -> String {
        (self.envelope.success)(call, output, limit)
    }

    /// Puts a failure into the envelope, within `limit`.
    pub fn failure(&self, call: CallRef<'_>, error: &ToolError, limit: usize) -> String {
        (self.envelope.failure)(call, error, limit)
    }
}
