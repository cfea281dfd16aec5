//! The state after the worst moment: killed, raced, out of space, unplugged.
//!
//! Law: each file is exactly its content before or after a call, each recorded call has exactly one
//! result, nothing runs twice, and the journal is what was written. All of it is seen from outside,
//! with the real program, its own home and its own state.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

mod check;
mod closed;
mod disk;
mod full_disk;
mod journal;
mod large;
mod layers;
mod lease;
mod machine;
mod matrix;
mod ordered;
mod power;
mod random;
mod recovery;
mod scarce;
mod small_disk;
mod theirs;
mod told;
mod undo;
mod workload;
