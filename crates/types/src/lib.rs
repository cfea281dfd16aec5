//! Nouns: what the other crates talk about.
//!
//! Law: nothing here touches a disk, a process, a clock or a terminal.

pub mod call;
pub mod cancel;
pub mod digest;
pub mod error;
pub mod event;
pub mod freshness;
pub mod json;
pub mod limits;
pub mod mode;
pub mod replace;
pub mod text;

pub use call::{ToolCall, ToolDefinition, ToolResult};
pub use cancel::{Cancel, Cancelled};
pub use digest::{Digest, Hashing};
pub use error::{DenialReason, ErrorKind, ToolError};
pub use event::ToolEvent;
pub use freshness::{Extent, Freshness, ReadRecord};
pub use limits::Limits;
pub use mode::{ApprovalMode, Profile, RiskLevel, ToolsMode, Verdict};
pub use replace::ReplaceError;
