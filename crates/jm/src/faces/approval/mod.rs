//! Approval at a plain terminal: the question, its answers, and what they leave behind.

mod answers;
mod ask;
mod remember;

pub(super) use ask::{Answered, ask};
pub(super) use remember::remember;
