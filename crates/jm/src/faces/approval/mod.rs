//! Approval: the question at a plain terminal and for programs, its answers, and what they leave behind.

mod answer;
mod lines;
mod question;
mod store;

pub(super) use lines::AnswerLines;
pub(super) use question::ask;
pub(super) use store::{Declines, remember};
