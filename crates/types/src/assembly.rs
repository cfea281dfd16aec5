//! The pieces of a turn become one message (GO-STREAM).
//!
//! Law: only a call that was sealed, and that no limit cut, is a call. Others are kept apart.

use std::collections::BTreeMap;

use crate::ToolCall;
use crate::message::{Message, MessageRole, Native, Part};
use crate::stream::{StopReason, StreamEvent, Usage};

/// Merges the events of one response. Feed it every event, then `finish`.
#[derive(Debug, Default)]
pub struct Assembly {
    parts: BTreeMap<usize, Piece>,
    usage: Usage,
    stop: Option<StopReason>,
}

/// One response, whole or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// One assistant message, with the calls that may run. It may have no parts at all.
    pub message: Message,
    /// Nothing if the stream ended before the turn did.
    pub stop: Option<StopReason>,
    /// Tokens, as the last event said.
    pub usage: Usage,
    /// Calls without their end, in order: never to be run, and not in the message.
    pub cut: Vec<CutCall>,
}

/// A call whose end never came. Its arguments are what had come until then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CutCall {
    /// The call as far as it came.
    pub call: ToolCall,
    /// The cause of the missing end.
    pub why: Cut,
}

/// The cause of a missing end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// The model reached a limit of tokens.
    Limit,
    /// The stream ended too early.
    Stream,
}

#[derive(Debug)]
enum Piece {
    Text { text: String, native: Option<Native> },
    Thinking { text: String, native: Option<Native> },
    Call { call: ToolCall, sealed: bool, native: Option<Native> },
    Opaque { native: Native },
}

impl Assembly {
    /// An empty response.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next event in.
    pub fn push(&mut self, event: StreamEvent) {
        match event {
            StreamEvent::Text { index, delta } => self.say(index, &delta),
            StreamEvent::Thinking { index, delta } => self.think(index, &delta),
            StreamEvent::CallStarted { index, id, name } => {
                let call = ToolCall { id, name, arguments: String::new() };
                self.parts.insert(index, Piece::Call { call, sealed: false, native: None });
            }
            StreamEvent::CallArguments { index, fragment } => {
                if let Some(Piece::Call { call, .. }) = self.parts.get_mut(&index) {
                    call.arguments.push_str(&fragment);
                }
            }
            StreamEvent::CallSealed { index, arguments } => self.seal(index, arguments),
            StreamEvent::PartSealed { index, native } => self.keep(index, native),
            StreamEvent::Usage(usage) => self.usage = usage,
            StreamEvent::Retrying { .. } => {}
            StreamEvent::Stop { reason } => self.stop = Some(reason),
        }
    }

    /// The call at this place, once it is whole.
    pub fn sealed(&self, index: usize) -> Option<&ToolCall> {
        match self.parts.get(&index)? {
            Piece::Call { call, sealed: true, .. } => Some(call),
            Piece::Call { .. }
            | Piece::Text { .. }
            | Piece::Thinking { .. }
            | Piece::Opaque { .. } => None,
        }
    }

    /// The parts before this place that are no calls, as far as they came.
    pub fn said_before(&self, index: usize) -> impl Iterator<Item = (usize, Part)> {
        let part = |(place, piece): (&usize, &Piece)| match piece {
            Piece::Text { text, native } => {
                Some((*place, Part::Text { text: text.clone(), native: native.clone() }))
            }
            Piece::Thinking { text, native } => {
                Some((*place, Part::Thinking { text: text.clone(), native: native.clone() }))
            }
            Piece::Opaque { native } => Some((*place, Part::Opaque { native: native.clone() })),
            Piece::Call { .. } => None,
        };
        self.parts.range(..index).filter_map(part)
    }

    fn say(&mut self, index: usize, delta: &str) {
        let fresh = || Piece::Text { text: String::new(), native: None };
        if let Piece::Text { text, .. } = self.parts.entry(index).or_insert_with(fresh) {
            text.push_str(delta);
        }
    }

    fn think(&mut self, index: usize, delta: &str) {
        let fresh = || Piece::Thinking { text: String::new(), native: None };
        if let Piece::Thinking { text, .. } = self.parts.entry(index).or_insert_with(fresh) {
            text.push_str(delta);
        }
    }

    fn seal(&mut self, index: usize, arguments: Option<String>) {
        let Some(Piece::Call { call, sealed, .. }) = self.parts.get_mut(&index) else { return };
        if let Some(arguments) = arguments {
            call.arguments = arguments;
        }
        if call.arguments.trim().is_empty() {
            "{}".clone_into(&mut call.arguments);
        }
        *sealed = true;
    }

    fn keep(&mut self, index: usize, item: Native) {
        match self.parts.get_mut(&index) {
            None => {
                self.parts.insert(index, Piece::Opaque { native: item });
            }
            Some(Piece::Opaque { native }) => *native = item,
            Some(
                Piece::Text { native, .. }
                | Piece::Thinking { native, .. }
                | Piece::Call { native, .. },
            ) => *native = Some(item),
        }
    }

    /// Ends the response and gives its parts, as far as they came.
    pub fn finish(self) -> Turn {
        let Self { parts, usage, stop } = self;
        let limited = stop.as_ref().is_some_and(StopReason::cuts);
        let last = parts.keys().next_back().copied();
        let mut message = Message { role: MessageRole::Assistant, parts: Vec::new() };
        let mut cut = Vec::new();
        for (index, piece) in parts {
            match piece {
                Piece::Text { text, native } => append(&mut message.parts, text, native),
                Piece::Thinking { text, native } => {
                    message.parts.push(Part::Thinking { text, native });
                }
                // A vendor closes the last block even where the limit cut it, so there the seal
                // says nothing.
                Piece::Call { call, .. } if limited && last == Some(index) => {
                    cut.push(CutCall { call, why: Cut::Limit });
                }
                Piece::Call { call, sealed: true, native } => {
                    message.parts.push(Part::Call { call, native });
                }
                Piece::Call { call, sealed: false, .. } => {
                    let why = if limited { Cut::Limit } else { Cut::Stream };
                    cut.push(CutCall { call, why });
                }
                Piece::Opaque { native } => message.parts.push(Part::Opaque { native }),
            }
        }
        Turn { message, stop, usage, cut }
    }
}

/// Neighbouring pieces of plain text are one text; one that carries a vendor's item stays alone.
fn append(parts: &mut Vec<Part>, text: String, native: Option<Native>) {
    if text.is_empty() && native.is_none() {
        return;
    }
    match (parts.last_mut(), &native) {
        (Some(Part::Text { text: before, native: None }), None) => before.push_str(&text),
        _ => parts.push(Part::Text { text, native }),
    }
}

#[cfg(test)]
mod tests;
