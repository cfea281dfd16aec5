//! The prompt: text that is edited, its history, what completes it.

pub mod buffer;
pub mod burst;
pub mod complete;
pub mod history;

pub use buffer::Buffer;
pub use burst::Burst;
pub use complete::{Completion, Menu};
pub use history::History;
