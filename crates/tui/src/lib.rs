//! The screen: what a session looks like in a terminal, inline and append-only.
//!
//! Law: what is finished is written once and never drawn again; nothing here touches the disk, starts
//! a process or knows the engine. A face hands in what happened and takes out what is wanted.

pub mod block;
pub mod markdown;
pub mod text;
