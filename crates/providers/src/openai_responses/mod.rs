//! OpenAI's Responses.

mod decode;
mod encode;

pub(crate) use decode::{Decoder, as_text};
pub(crate) use encode::{effort, encode};
