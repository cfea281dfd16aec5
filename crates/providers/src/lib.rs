//! Voices: vendors' streams become one.
//!
//! Law: of tools this crate knows their definitions only, and it touches no disk: environment, files
//! and clock come in as arguments.

mod anthropic;
pub mod client;
mod endpoint;
mod failure;
mod fenced;
mod gemini;
mod history;
pub mod http;
mod json;
pub mod models;
mod openai_chat;
mod openai_responses;
pub mod record;
pub mod request;
pub mod retry;
mod schema;
pub mod scripted;
pub mod secret;
pub mod sse;
mod tools;
pub mod voice;
pub mod wire;
pub mod wishes;

pub use client::{Client, Settings, script_file};
pub use endpoint::key_variables;
pub use fenced::CallMeta;
pub use http::{Sizes, Timeouts};
pub use models::{Catalogue, ModelInfo, Price, ThinkingStyle};
pub use record::Recorder;
pub use request::{CacheRetention, Parameters, Request, Thinking};
pub use retry::Retry;
pub use scripted::{Script, Server};
pub use secret::Secret;
pub use tools::Tools;
pub use voice::{EventStream, Voice};
pub use wire::Wire;
pub use wishes::Wishes;
