//! A picture of the screen, before it is written.

use crate::text::Line;

/// The rows that are to be on the screen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frame {
    pub rows: Vec<Line>,
    /// The place of the real cursor.
    pub caret: Option<Caret>,
    /// The whole screen, not the live region.
    pub is_full: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Caret {
    pub row: usize,
    pub column: usize,
}
