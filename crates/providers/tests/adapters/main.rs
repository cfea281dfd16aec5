//! The voices over real HTTP: what is sent, what comes back, and what becomes of every fault.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

mod faults;
mod fenced;
mod flood;
mod golden;
mod history;
mod official;
mod parameters;
mod quirks;
mod recording;
mod unreachable;
mod world;
