//! Approval at a plain terminal: the question, its answers, and what they leave behind.

mod answer;
mod question;
mod store;

pub(super) use question::{Answered, ask, offered, scope_in_words};
pub(super) use store::remember;
