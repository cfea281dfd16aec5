//! Nouns: what the other crates talk about.
//!
//! Law: nothing here touches a disk, a process, a clock or a terminal.

#![warn(missing_docs)]

pub mod assembly;
pub mod balance;
pub mod call;
pub mod cancel;
pub mod code;
pub mod defaults;
pub mod digest;
pub mod dropped;
pub mod error;
pub mod event;
pub mod fenced_call;
pub mod file_changes;
pub mod freshness;
pub mod hosts;
pub mod ids;
pub mod json;
pub mod limits;
pub mod message;
pub mod messages;
pub mod mode;
pub mod network;
pub mod question;
pub mod replace;
pub mod stream;
pub mod text;
pub mod toolset;

pub use assembly::{Assembly, Cut, CutCall, Turn};
pub use balance::{Fault, Imbalance};
pub use call::{NoCall, ToolCall, ToolDefinition, ToolResult};
pub use cancel::{Cancel, Cancelled};
pub use code::ErrorCode;
pub use digest::{Digest, Hashing};
pub use dropped::ignore_error;
pub use error::{DenialReason, ErrorKind, ToolError};
pub use event::ToolEvent;
pub use fenced_call::{FencedCall, FencedFault, parse_fenced_call};
pub use file_changes::{ChangeWord, HeldChange};
pub use freshness::{Extent, Freshness, ReadRecord};
pub use hosts::{Host, HostExceptions, HostList, HostRule, HostVerdict, NoHost};
pub use ids::{BatchNumber, CallKey, SessionId};
pub use limits::Limits;
pub use message::{Message, MessageRole, Native, Part};
pub use messages::Messages;
pub use mode::{ApprovalMode, Profile, RiskLevel, ToolEffect, ToolsMode, Verdict};
pub use network::Network;
pub use question::{
    AlwaysOffer, AnswerFault, AnsweredCall, ApprovalAnswer, ApprovalChoice, ApprovalQuestion,
    CallQuestion, OfferedScope, numbered_places,
};
pub use replace::ReplaceError;
pub use stream::{StopReason, StreamError, StreamErrorKind, StreamEvent, Usage};
pub use toolset::Toolset;
