//! Rules for commands: allow, ask or deny, matched on argument vectors.

mod decide;
mod derive;
mod error;
mod general;
mod load;
mod matching;
mod pattern;
mod place;
mod program_options;
mod set;

pub use decide::{Because, CommandDecision, PartDecision};
pub use derive::RuleText;
pub use error::{PatternError, RuleError};
pub use load::RuleSource;
pub use place::{Readers, RuleContext};
pub use set::CommandRules;
