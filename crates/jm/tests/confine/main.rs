//! Confined commands: none gets out, ordinary work goes on, nothing hangs or stays behind.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

mod escapes;
mod gate;
mod git_surface;
mod ground;
mod hangs;
mod held;
mod hints;
mod jobs;
mod ladder;
mod many_names;
mod odd_modes;
mod only_reads;
mod packages;
mod races;
mod reading;
mod ready;
mod replaced;
mod signals;
mod spare;
mod unended;
mod work;
mod world;
