//! Model providers: one adapter a vendor, whose streams become one form.
//!
//! Law: of tools this crate knows their definitions only, and it touches no disk: environment, files
//! and clock come in as arguments.

#![warn(missing_docs)]

mod adapter;
mod anthropic;
mod cache_retention;
pub mod client;
mod endpoint;
mod event_stream;
mod failure;
mod fenced;
mod gemini;
mod history;
pub mod http;
mod json;
pub mod models;
mod openai_chat;
mod openai_responses;
mod parameter_layers;
pub mod record;
pub mod request;
pub mod retry;
mod schema;
pub mod secret;
mod server_models;
pub mod sse;
mod tools;
pub mod wire;

pub use adapter::{Decode, Recipient};
pub use cache_retention::CacheRetention;
pub use client::{ClientSettings, LocalModel, LocalServer, ModelClient};
pub use endpoint::key_variables;
pub use event_stream::EventStream;
pub use fenced::CallMeta;
pub use http::{AnswerSizes, HttpTimeouts};
pub use models::{Catalogue, ModelInfo, Price, ThinkingStyle};
pub use parameter_layers::ParameterLayers;
pub use record::TrafficRecorder;
pub use request::{ModelRequest, Parameters, Thinking};
pub use retry::Retry;
pub use schema::GEMINI_SCHEMA_WORDS;
pub use secret::Secret;
pub use server_models::{LOCAL_PROVIDERS, served_models};
pub use tools::OfferedTools;
pub use wire::Wire;
