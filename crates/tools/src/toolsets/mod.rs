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
use jm_workspace::PathPolicy;
use serde::{Deserialize, Serialize};

use crate::tool::{Output, ToolExecutor};
pub use envelope::CallRef;
pub(crate) use envelope::Envelope;
pub use operation::{Operation, Outcome};
pub use row::{Lowered, Stakes, Timeouts};
pub(crate) use row::{Row, SchemaOf, mismatch, parse, with_notes};

/// The dialect of tools that a session speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Toolset {
    Forge,
    Forj,
    Gemini,
    Ikigai,
    Flemma,
    #[default]
    Standard,
}

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

impl Toolset {
    pub const ALL: &'static [Self] =
        &[Self::Forge, Self::Forj, Self::Gemini, Self::Ikigai, Self::Flemma, Self::Standard];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Forge => "forge",
            Self::Forj => "forj",
            Self::Gemini => "gemini",
            Self::Ikigai => "ikigai",
            Self::Flemma => "flemma",
            Self::Standard => "standard",
        }
    }

    const fn dialect(self) -> &'static Dialect {
        match self {
            Self::Forge => &forge::DIALECT,
            Self::Forj => &forj::DIALECT,
            Self::Gemini => &gemini::DIALECT,
            Self::Ikigai => &ikigai::DIALECT,
            Self::Flemma => &flemma::DIALECT,
            Self::Standard => &standard::DIALECT,
        }
    }

    pub fn tools(self, timeouts: &Timeouts) -> Result<Vec<Box<dyn ToolExecutor>>, ToolError> {
        let dialect = self.dialect();
        let within = |time: Duration| dialect.timeout.map_or(time, |most| time.min(most));
        let timeouts = Timeouts {
            file_operations: within(timeouts.file_operations),
            shell_commands: within(timeouts.shell_commands),
        };
        let lent = |(lender, names): &(Toolset, &'static [&'static str])| {
            let (rows, names) = (lender.dialect().rows, *names);
            rows.iter().filter(move |row| names.contains(&row.name))
        };
        let borrowed = dialect.borrowed.iter().flat_map(lent);
        dialect.rows.iter().chain(borrowed).map(|row| row.tool(self, &timeouts)).collect()
    }

    pub fn paths(self) -> PathPolicy {
        self.dialect().paths
    }

    /// What the model gets of a success, within `limit`.
    pub fn success(self, call: CallRef<'_>, output: Output, limit: usize) -> String {
        (self.dialect().envelope.success)(call, output, limit)
    }

    /// What the model gets of a failure, within `limit`.
    pub fn failure(self, call: CallRef<'_>, error: &ToolError, limit: usize) -> String {
        (self.dialect().envelope.failure)(call, error, limit)
    }

    /// What the envelope leaves of `limit` for the tool's own words.
    pub fn room(self, call: CallRef<'_>, limit: usize) -> usize {
        limit.saturating_sub((self.dialect().envelope.frame)(call))
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
