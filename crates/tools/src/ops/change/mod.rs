//! Change: every write, edit and patch of every tool.
//!
//! Law: new contents are computed in memory, for all files, before anything is shown or written.
//! A preview and a commit come from the same computation, and a refusal changes nothing.

mod checks;
pub mod diff;
pub mod edit;
mod encoding;
pub mod lp1;
mod mismatch;
mod outcome;
pub mod parens;
mod rules;
mod several;
mod single;
mod stage;
mod stale;
mod syntax;
mod target;

pub use edit::{Edit, Existing, FileEdit};
pub use outcome::{ChangedFile, Did, EditDone, EditFailure};
pub use rules::{
    Backup, Care, ChangeRules, FreshnessRule, Missing, Mode, NewText, OnError, Parents,
};
pub use several::Change;
pub use single::{ChangedLines, LineChange, LineEdit, SingleChange};
