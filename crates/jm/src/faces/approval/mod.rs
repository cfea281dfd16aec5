//! Approval at a plain terminal: the question, its answers, and what they leave behind.

mod answers;
mod ask;
mod remember;

pub(super) use ask::{Answered, ask, offered, scope_in_words};
pub(super) use remember::remember;
