//! LP1, the line patch: what a patch says, before it meets a file.
//!
//! Law: a value here is a well formed patch. Every find block has a line, every occurrence counts
//! from 1, and printing a patch and parsing it again gives the same patch.

pub use apply::apply;
pub use error::{Hits, Miss, PatchError, Problem, Unpatchable};
pub use locate::{is_already_applied, target_lines};
pub(super) use nearest::nearest;
pub use nearest::{DiffersIn, Nearest};
pub use parse::parse;
pub use patch::{FinalNewline, Patch, PatchAction, PatchOperation, PatchTarget, Section};
pub use syntax::{Block, SyntaxFault};

mod apply;
mod difference;
mod error;
mod locate;
mod nearest;
mod parse;
mod patch;
mod similarity;
mod syntax;
#[cfg(test)]
mod tests;
mod window;
