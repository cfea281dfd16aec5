//! Hostile input against the whole gate: paths, links, races, bytes, stale files, faults, limits,
//! floods.
//!
//! Law: every call is followed by the same checks (`world::World::call`), so a case only says what
//! is planted, what is asked, and what must come of it.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod atomic;
mod content;
mod limits;
mod output;
mod paths;
mod probe;
mod races;
mod stale;
mod tree;
mod walkers;
mod world;
