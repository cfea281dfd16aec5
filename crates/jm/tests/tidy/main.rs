//! The habits that keep the project legible, as tests. Each check is a function of sources, so that a
//! planted case can show that it fails.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

mod allowed;
mod comments;
mod files;
mod glossary;
mod ids;
mod layers;
mod module_graph;
mod names;
mod path_of_an_edit;
mod requirements;
mod sources;
mod threats;
mod wording;
