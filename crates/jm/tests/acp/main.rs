//! `jm acp` driven by a client over standard input and output: whole sessions, questions, crashes, and what is left.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

mod client;
mod deaths;
mod endings;
mod questions;
mod sessions;
mod settings;
mod traffic;
