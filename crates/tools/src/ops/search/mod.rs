//! Search: every match in every file of a tree.
//!
//! Law: the answer is the same on every machine and in every run: the first matches by path and
//! line. Only when time, files or bytes run out is it partial, and then it says so.

mod ahead;
mod collect;
mod globs;
mod query;
mod request;
mod searching;
mod sink;

pub(crate) use globs::compile_globs;
pub use query::{Case, Query, Syntax};
pub use request::{Counted, MissingStart, Search, SearchStart};
pub use searching::SearchOutcome;
pub use sink::{FileHits, FoundLine, Hit};
