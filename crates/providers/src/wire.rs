//! A vendor's wire protocol: its path, how a request is encoded, how an answer is decoded.
//!
//! Law: encoding and decoding are pure; the same request is the same bytes.

use jm_types::StreamError;
use serde_json::to_string as text;

use crate::adapter::{Decode, Origin, Recipient, Shaped};
use crate::request::ModelRequest;
use crate::{anthropic, gemini, openai_chat, openai_responses};

/// The four protocols. Vertex speaks `Gemini` too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wire {
    /// The Messages protocol.
    Anthropic,
    /// The Responses protocol.
    OpenaiResponses,
    /// The Chat Completions protocol, which many servers speak.
    OpenaiChat,
    /// The `generateContent` protocol.
    Gemini,
}

impl Wire {
    /// Every protocol, for tests and messages that list them.
    pub const ALL: [Wire; 4] =
        [Wire::Anthropic, Wire::OpenaiResponses, Wire::OpenaiChat, Wire::Gemini];

    /// The name in configuration.
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

    /// The path beneath a base address, where this model answers.
    pub fn path(self, model: &str) -> String {
        match self {
            Wire::Anthropic => "/v1/messages".to_owned(),
            Wire::OpenaiResponses => "/responses".to_owned(),
            Wire::OpenaiChat => "/chat/completions".to_owned(),
            Wire::Gemini => format!("/models/{model}:streamGenerateContent?alt=sse"),
        }
    }

    /// The request's body.
    pub fn encode(
        self,
        request: &ModelRequest,
        reader: Recipient<'_>,
    ) -> Result<String, StreamError> {
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
    pub fn decoder(self, request: &ModelRequest, provider: &str, model: &str) -> Box<dyn Decode> {
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
