//! Voices: vendors' streams become one.
//!
//! Law: of tools this crate knows their definitions only, and it touches no disk: environment, files
//! and clock come in as arguments.

pub mod models;
pub mod request;
pub mod voice;

pub use models::{Catalogue, ModelInfo, Price, ThinkingStyle};
pub use request::{CacheRetention, Parameters, Request, Thinking};
pub use voice::{EventStream, Voice};
