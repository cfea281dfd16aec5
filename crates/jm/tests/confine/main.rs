//! Commands in their walls: nobody gets out, ordinary work goes on, nothing hangs or stays behind.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

mod escapes;
mod gate;
mod hangs;
mod hints;
mod jobs;
mod ladder;
mod packages;
mod signals;
mod spare;
mod work;
mod world;
