//! A vendor's way of speaking: where to, how a request is written, how an answer is read.
//!
//! Law: encoding and decoding are pure; the same request is the same bytes.

use std::collections::VecDeque;

use jm_types::{Native, StreamError, StreamEvent};
use serde_json::to_string as text;

use crate::models::ModelInfo;
use crate::request::Request;
use crate::sse::Event;
use crate::tools::Tools;
use crate::{anthropic, gemini, openai_chat, openai_responses, schema};

/// The four languages. `Gemini` is spoken by Vertex too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wire {
    Anthropic,
    OpenaiResponses,
    OpenaiChat,
    Gemini,
}

/// For whom a request is written.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    pub provider: &'a str,
    pub model: &'a str,
    pub info: &'a ModelInfo,
}

impl Wire {
    pub const ALL: [Wire; 4] =
        [Wire::Anthropic, Wire::OpenaiResponses, Wire::OpenaiChat, Wire::Gemini];

    pub fn name(self) -> &'static str {
        match self {
            Wire::Anthropic => "anthropic",
            Wire::OpenaiResponses => "openai-responses",
            Wire::OpenaiChat => "openai-chat",
            Wire::Gemini => "gemini",
        }
    }

    /// The provider who speaks it of old.
    pub fn provider(self) -> &'static str {
        match self {
            Wire::OpenaiResponses => "openai",
            Wire::Anthropic | Wire::OpenaiChat | Wire::Gemini => self.name(),
        }
    }

    /// The request's body.
    pub fn encode(self, request: &Request, reader: Reader<'_>) -> Result<String, StreamError> {
        let body = match self {
            Wire::Anthropic => anthropic::encode(request, reader).and_then(|body| text(&body)),
            Wire::OpenaiResponses => {
                openai_responses::encode(request, reader).and_then(|body| text(&body))
            }
            Wire::OpenaiChat => openai_chat::encode(request, reader).and_then(|body| text(&body)),
            Wire::Gemini => gemini::encode(request, reader).and_then(|body| text(&body)),
        };
        body.map_err(crate::failure::malformed)
    }

    /// A reader of the answer to this request.
    pub fn decoder(self, request: &Request, provider: &str, model: &str) -> Box<dyn Decode> {
        let origin = Origin { provider: provider.to_owned(), model: model.to_owned() };
        let shaped = Shaped(request.tools.clone());
        match self {
            Wire::Anthropic => Box::new(anthropic::Decoder::new(origin)),
            Wire::OpenaiResponses => Box::new(openai_responses::Decoder::new(origin, shaped)),
            Wire::OpenaiChat => Box::new(openai_chat::Decoder::new(origin, shaped)),
            Wire::Gemini => Box::new(gemini::Decoder::new(origin)),
        }
    }
}

/// Reads one answer, event by event. `Stop` is the last thing it says.
pub trait Decode: Send {
    fn event(&mut self, event: &Event, out: &mut VecDeque<StreamEvent>) -> Result<(), StreamError>;

    /// Nothing more comes. An error if the turn has not come to its end.
    fn end(&mut self, out: &mut VecDeque<StreamEvent>) -> Result<(), StreamError>;
}

/// Who made the items of an answer.
#[derive(Debug, Clone)]
pub(crate) struct Origin {
    provider: String,
    model: String,
}

impl Origin {
    pub(crate) fn native(&self, raw: impl Into<String>) -> Native {
        Native { provider: self.provider.clone(), model: self.model.clone(), raw: raw.into() }
    }
}

/// The tools with their own schemas, of which those that could be were made strict.
#[derive(Debug, Default)]
pub(crate) struct Shaped(Tools);

impl Shaped {
    /// A call's arguments as the tool's own schema has them, where that differs.
    pub(crate) fn undo(&self, tool: &str, arguments: &str) -> Option<String> {
        let schema = &self.0.named(tool)?.parameters;
        schema::strict(schema).and_then(|_| schema::unshape(schema, arguments))
    }
}
