//! Accents: the toolsets of other agents, in their own words, over the operations of `jm-tools`.
//!
//! Law: a dialect only translates. What it needs beyond the common operations is an operation of its own
//! here, under the same sandbox, approval and journal.

#![warn(missing_docs)]

mod flemma;
mod forj;
mod gemini;
pub mod ikigai;
pub mod posix;

use jm_tools::toolsets::{Dialect, FORGE, STANDARD};
use jm_types::Toolset;

pub use flemma::FLEMMA;
pub use forj::FORJ;
pub use gemini::GEMINI;
pub use ikigai::IKIGAI;

/// The implementation of a toolset that configuration names.
pub fn dialect_of(toolset: Toolset) -> &'static Dialect {
    match toolset {
        Toolset::Forge => &FORGE,
        Toolset::Forj => &FORJ,
        Toolset::Gemini => &GEMINI,
        Toolset::Ikigai => &IKIGAI,
        Toolset::Flemma => &FLEMMA,
        Toolset::Standard => &STANDARD,
    }
}
