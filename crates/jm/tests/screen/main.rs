//! The screen in real terminals: the program in tmux and in GNU screen, driven by keys, with a scripted
//! model behind it.
//!
//! Law: every finished line is in the terminal's scrollback exactly once; the terminal is as before
//! when the program has gone, however it went.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

mod always;
mod answers;
mod blocks;
mod complaints;
mod desk;
mod emacs;
mod first_start;
mod hostile;
mod long_question;
mod nvim;
mod pictures;
mod prompt;
mod rewind;
mod session;
mod status;
