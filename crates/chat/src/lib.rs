//! Conversations as `.chat` documents (docs/formats/chat.md): parser, view, edits, merge.
//!
//! Laws: a document is its bytes, so rendering a parsed one gives those bytes. An edit is a splice: every
//! byte outside it stays, and every block outside it means what it meant before. Nothing inside a fence is
//! read as anything but text. Nothing here touches a disk.

#![warn(missing_docs)]

pub mod block;
pub mod call;
pub mod diagnostic;
pub mod document;
pub mod edit;
mod edit_error;
mod escape;
pub mod fence;
pub mod front_matter;
mod link;
pub mod merge;
mod parse;
mod recognize;
pub mod reference;
pub mod span;
pub mod status;
mod tool_results;
pub mod view;
mod write;

pub use block::{
    BlockKind, ChatBlock, ChatRole, ResultState, RoleSection, ThinkingBlock, ToolResultBlock,
    ToolUseBlock,
};
pub use call::{AnswerState, ChatCall, NextStep, PlaceholderState};
pub use diagnostic::{Diagnostic, Severity};
pub use document::ChatDocument;
pub use edit::ByteSplice;
pub use edit_error::EditError;
pub use front_matter::{
    FrontMatter, FrontMatterError, FrontMatterLanguage, JsonFrontMatter, JsonSetting, ListChange,
    ListValue,
};
pub use merge::{MergeConflict, merge};
pub use reference::FileReference;
pub use span::ByteRange;
pub use status::{PlaceholderForm, ToolStatus};
pub use tool_results::NewResult;
pub use view::{ChatView, ViewSources};
