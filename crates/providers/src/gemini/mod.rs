//! Gemini, by API key or through Vertex.

mod decode;
mod encode;

pub(crate) use decode::Decoder;
pub(crate) use encode::encode;
