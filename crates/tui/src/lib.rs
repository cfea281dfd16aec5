//! The screen: what a session looks like in a terminal, inline and append-only.
//!
//! Law: what is finished is written once and never drawn again; nothing here touches the disk, starts
//! a process or knows the engine. A face hands in what happened and takes out what is wanted.

#![warn(missing_docs)]

pub mod app;
pub mod block;
pub mod command;
pub mod editor;
pub mod help;
pub mod highlight;
pub mod key;
pub mod mailbox;
pub mod markdown;
pub mod msg;
pub mod outbox;
pub mod panel;
pub mod printer;
pub mod runner;
pub mod status;
pub mod terminal;
pub mod text;
pub mod transcript;
pub mod view;
