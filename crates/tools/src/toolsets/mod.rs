//! The dialects: each toolset says the operations in its own words.
//!
//! Law: a tool here is two pure functions. `lower` turns arguments into an operation, `raise` turns
//! an outcome into what the model reads, and the set's one envelope says how every answer looks. No
//! I/O can be written in a toolset.

mod derived;
mod encoding;
mod envelope;
mod flemma;
mod forge;
mod forj;
mod gemini;
pub mod ikigai;
mod lines;
mod name;
mod operation;
mod row;
mod standard;
mod tasks;

use std::time::Duration;

use jm_types::ToolError;
pub use jm_types::Toolset;
use jm_workspace::PathPolicy;

use crate::tool::{Output, ToolExecutor};
pub use envelope::CallRef;
pub(crate) use envelope::Envelope;
pub use operation::{Operation, Outcome};
pub use row::{Lowered, Stakes, Timeouts};
pub(crate) use row::{Row, SchemaOf, mismatch, parse, with_notes};

/// A toolset as data.
pub(crate) struct Dialect {
    pub(crate) rows: &'static [Row],
    /// Tools of other sets that this one has too, by name.
    pub(crate) borrowed: &'static [(Toolset, &'static [&'static str])],
    pub(crate) envelope: Envelope,
    /// Which spellings of paths the set's document accepts.
    pub(crate) paths: PathPolicy,
    /// The longest that any tool may take, where the document says so.
    pub(crate) timeout: Option<Duration>,
}

/// What a toolset says and accepts, by its name.
pub trait Dialects: Sized {
    fn tools(self, timeouts: &Timeouts) -> Result<Vec<Box<dyn ToolExecutor>>, ToolError>;

    /// The spellings of paths that the set accepts.
    fn paths(self) -> PathPolicy;

    /// The model's text of a success, within `limit`.
    fn success(self, call: CallRef<'_>, output: Output, limit: usize) -> String;

    /// The model's text of a failure, within `limit`.
    fn failure(self, call: CallRef<'_>, error: &ToolError, limit: usize) -> String;

    /// The part of `limit` that the envelope leaves for the tool's own words.
    fn room(self, call: CallRef<'_>, limit: usize) -> usize;
}

const fn dialect_of(toolset: Toolset) -> &'static Dialect {
    match toolset {
        Toolset::Forge => &forge::DIALECT,
        Toolset::Forj => &forj::DIALECT,
        Toolset::Gemini => &gemini::DIALECT,
        Toolset::Ikigai => &ikigai::DIALECT,
        Toolset::Flemma => &flemma::DIALECT,
        Toolset::Standard => &standard::DIALECT,
    }
}

impl Dialects for Toolset {
    fn tools(self, timeouts: &Timeouts) -> Result<Vec<Box<dyn ToolExecutor>>, ToolError> {
        let dialect = dialect_of(self);
        let within = |time: Duration| dialect.timeout.map_or(time, |most| time.min(most));
        let timeouts = Timeouts {
            file_operations: within(timeouts.file_operations),
            shell_commands: within(timeouts.shell_commands),
        };
        let lent = |(lender, names): &(Toolset, &'static [&'static str])| {
            let (rows, names) = (dialect_of(*lender).rows, *names);
            rows.iter().filter(move |row| names.contains(&row.name))
        };
        let borrowed = dialect.borrowed.iter().flat_map(lent);
        dialect.rows.iter().chain(borrowed).map(|row| row.tool(self, &timeouts)).collect()
    }

    fn paths(self) -> PathPolicy {
        dialect_of(self).paths
    }

    fn success(self, call: CallRef<'_>, output: Output, limit: usize) -> String {
        (dialect_of(self).envelope.success)(call, output, limit)
    }

    fn failure(self, call: CallRef<'_>, error: &ToolError, limit: usize) -> String {
        (dialect_of(self).envelope.failure)(call, error, limit)
    }

    fn room(self, call: CallRef<'_>, limit: usize) -> usize {
        limit.saturating_sub((dialect_of(self).envelope.frame)(call))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IK-WRAP, CFG-TMO-01a: thirty seconds at the most in `ikigai`, elsewhere what is configured.
    #[test]
    fn a_document_that_names_a_time_has_it() {
        let seconds = Duration::from_secs;
        let configured = Timeouts { file_operations: seconds(20), shell_commands: seconds(300) };
        let times = |toolset: Toolset| -> Vec<(String, Option<Duration>)> {
            let tools = toolset.tools(&configured).unwrap();
            tools.iter().map(|tool| (tool.name().to_owned(), tool.timeout())).collect()
        };
        let ikigai = times(Toolset::Ikigai);
        assert!(ikigai.contains(&("bash".to_owned(), Some(seconds(30)))), "{ikigai:?}");
        assert!(ikigai.contains(&("file_read".to_owned(), Some(seconds(20)))), "{ikigai:?}");
        let forge = times(Toolset::Forge);
        assert!(forge.contains(&("run_command".to_owned(), Some(seconds(300)))), "{forge:?}");
    }
}
