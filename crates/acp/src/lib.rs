//! The Agent Client Protocol, version 1: a connection to an editor, and the forms of what it is told and asked.
//!
//! Law: this crate opens no file, starts no process and decides nothing. A client's message is data: bounded,
//! and answered exactly once where it asks for an answer.

#![warn(missing_docs)]

mod client_meta;
mod connection;
mod diff;
mod initialize;
mod message;
mod plan;
mod prompt;
mod settings;
mod tool_call;

pub use agent_client_protocol_schema::v1 as schema;
pub use client_meta::{keeps_file, rejection_reason};
pub use connection::{AcpClient, AcpInput, AskFailure, connect};
pub use diff::{HunkText, hunks_in};
pub use initialize::{ClientFeatures, initialized};
pub use message::ClientMessage;
pub use plan::plan_of;
pub use prompt::{PromptFault, prompt_parts};
pub use settings::{ModeChoice, SettingChoices, config_options, mode_state};
pub use tool_call::{call_kind, call_locations, diff_contents, diff_locations, fenced_content};
