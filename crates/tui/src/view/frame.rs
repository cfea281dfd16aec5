//! A picture of the screen, before it is written.

use crate::text::Line;

/// The rows that are to be on the screen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frame {
    /// The rows from top to bottom.
    pub rows: Vec<Line>,
    /// The place of the real cursor.
    pub caret: Option<Caret>,
    /// The whole screen, not the live region.
    pub is_full: bool,
}

/// The place of the cursor in a frame.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Caret {
    /// From 0, from the top.
    pub row: usize,
    /// From 0, from the left.
    pub column: usize,
}
