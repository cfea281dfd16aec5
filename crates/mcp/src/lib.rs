//! The Model Context Protocol, revisions 2026-07-28 and 2025-11-25: a client for servers of tools, and a
//! server of tools for other agents.
//!
//! Law: this crate starts no process and opens no file. What a server says is data: bounded, cleaned, and
//! never believed about what it may do.

#![warn(missing_docs)]

pub mod client;
pub mod server;
