//! The contract between a vendor's adapter and what calls it: for whom a request is encoded, and how
//! an answer is decoded.

use std::collections::VecDeque;

use jm_types::{Native, StreamError, StreamEvent};
use serde_json::Value;

use crate::models::ModelInfo;
use crate::schema;
use crate::sse::SseEvent;
use crate::tools::OfferedTools;

/// The model that a request is written for.
#[derive(Debug, Clone, Copy)]
pub struct Recipient<'a> {
    /// The vendor's name in a model's full name.
    pub provider: &'a str,
    /// The vendor's name for the model.
    pub model: &'a str,
    /// Limits and prices from the catalogue.
    pub info: &'a ModelInfo,
}

/// Reads one answer, event by event. `Stop` is the last thing it says.
pub trait Decode: Send {
    /// Takes one event of the stream and appends what it means.
    fn event(
        &mut self,
        event: &SseEvent,
        out: &mut VecDeque<StreamEvent>,
    ) -> Result<(), StreamError>;

    /// Takes an answer that is one JSON object, from a server that does not stream; `None` where it is none of
    /// this vendor's.
    fn whole(
        &mut self,
        _: &Value,
        _: &mut VecDeque<StreamEvent>,
    ) -> Option<Result<(), StreamError>> {
        None
    }

    /// Nothing more comes. An error if the turn has not come to its end.
    fn end(&mut self, out: &mut VecDeque<StreamEvent>) -> Result<(), StreamError>;
}

/// The provider and the model that made the items of an answer.
#[derive(Debug, Clone)]
pub(crate) struct Origin {
    pub(crate) provider: String,
    pub(crate) model: String,
}

impl Origin {
    pub(crate) fn native(&self, raw: impl Into<String>) -> Native {
        Native { provider: self.provider.clone(), model: self.model.clone(), raw: raw.into() }
    }
}

/// The tools with their own schemas, of which those that could be were made strict.
#[derive(Debug, Default)]
pub(crate) struct Shaped(pub(crate) OfferedTools);

impl Shaped {
    /// A call's arguments as the tool's own schema has them, where that differs.
    pub(crate) fn undo(&self, tool: &str, arguments: &str) -> Option<String> {
        let definition = self.0.named(tool).filter(|tool| tool.strict.is_none())?;
        let schema = &definition.parameters;
        schema::strict(schema).and_then(|_| schema::unshape(schema, arguments))
    }
}
