//! What a command line would run, and what rules say to it.
//!
//! Law: nothing here runs, reads or writes anything. What is not understood is never called harmless.

mod danger;
mod find;
mod line;
mod options;
mod quoting;
mod reads;
mod redirect;
mod rules;
mod syntax;
mod variables;
mod word;
mod wrappers;

pub use danger::{Danger, DangerClass};
pub use line::{CommandLine, CommandPart};
pub use rules::{
    Because, CommandDecision, CommandRules, PartDecision, PatternError, Readers, RuleContext,
    RuleError, RuleSource, RuleText,
};
