//! Text that may be drawn: sanitised spans with a meaning, measured in cells, painted by a theme.
//!
//! Law: a `Span` holds nothing that a terminal acts on, because its constructor lets nothing in.

pub mod line;
pub mod paint;
pub mod style;
pub mod theme;
pub mod width;
pub mod wrap;

pub use line::{Line, Span};
pub use paint::paint;
pub use style::{Ansi, Attributes, Role, Style};
pub use theme::{Background, Depth, Surroundings, Theme};
