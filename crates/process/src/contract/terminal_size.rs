//! The size of a terminal, in character cells.

use serde::{Deserialize, Serialize};

/// Rows and columns of a command's terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TerminalSize {
    /// Lines.
    pub rows: u16,
    /// Characters of a line.
    pub columns: u16,
}

impl TerminalSize {
    /// The size of a terminal that nobody has sized.
    pub const USUAL: Self = Self { rows: 24, columns: 80 };
}
