//! OpenAI's Chat Completions, and every server that is compatible with them.

mod decode;
mod encode;

pub(crate) use decode::Decoder;
pub(crate) use encode::encode;
