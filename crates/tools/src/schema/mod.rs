//! JSON Schemas: of tools' arguments, and of texts that a model is asked for.

pub(crate) mod compiled;
pub mod fast_path;
mod text;

pub use text::Schema;
