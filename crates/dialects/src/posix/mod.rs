//! Patterns as POSIX has them: names by glob, lines by extended regular expression.

mod bracket;
mod class;
mod ere;
pub mod glob;
pub mod grep;
mod name;

pub use glob::PosixGlob;
pub use grep::{Expression, GrepOutcome, PosixGrep};
