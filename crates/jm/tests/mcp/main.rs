//! Servers of tools over MCP: good ones, bad ones, and what is left of them.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

mod hostile;
mod http;
mod http_hostile;
mod serving;
mod using;
mod world;
