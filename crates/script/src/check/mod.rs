//! Is this a request that the vendor would accept?

mod anthropic;
mod claims;
mod gemini;
mod openai_chat;
mod openai_responses;

use jm_providers::Wire;
use serde_json::Value;

use crate::script::Script;

pub(crate) use claims::SeenRequest;
use claims::{Checked, claim};

pub(crate) fn check(wire: Wire, body: &Value, script: &Script) -> Checked<SeenRequest> {
    match wire {
        Wire::Anthropic => anthropic::check(body),
        Wire::OpenaiResponses => openai_responses::check(body),
        Wire::OpenaiChat => openai_chat::check(body),
        Wire::Gemini => gemini::check(body, &script.model_info()),
    }
}

pub(crate) fn path_fits(wire: Wire, path: &str) -> Checked<()> {
    let fits = match wire {
        Wire::Anthropic => path == "/v1/messages",
        Wire::OpenaiResponses => path == "/v1/responses",
        Wire::OpenaiChat => path == "/v1/chat/completions",
        Wire::Gemini => {
            let versioned = ["/v1beta/models/", "/v1/models/"];
            versioned.iter().any(|start| path.starts_with(start))
                && path.ends_with(":streamGenerateContent")
        }
    };
    claim(fits, || format!("there is nothing at {path} for {}", wire.name()))
}

#[cfg(test)]
mod tests;
