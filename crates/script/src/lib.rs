//! The scripted model behind `script:FILE`, the demo and the tests: answers from a TOML file, served
//! over real HTTP in any vendor's protocol.
//!
//! Law: a request that the vendor would refuse is refused here too, so that a test which passes
//! says something about the vendor.

#![warn(missing_docs)]

mod check;
mod client;
mod deliver;
mod script;
mod server;
mod signature;
mod stream_events;

pub use client::{ScriptedModel, script_file};
pub use script::Script;
pub use server::ScriptServer;
