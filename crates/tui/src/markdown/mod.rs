//! Markdown as a terminal shows it.
//!
//! Law: prose is one line for each paragraph, so that the terminal wraps it and a copy has no line
//! breaks of ours; nothing stands in front of text but what Markdown itself puts there.

pub mod render;
pub mod stream;
mod table;

pub use render::render;
pub use stream::{Piece, Stream};
