//! The terminal: one writer of frames, one reader of keys, and both undone at the end.

pub mod input;
pub mod modes;
pub mod writer;

pub use input::{Continued, Reader};
pub use modes::{RawMode, TerminalOutput};
pub use writer::{Settings, Writer};
