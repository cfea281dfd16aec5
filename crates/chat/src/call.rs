//! The calls of a document, what answers each, and what is to be done about it next.

use jm_types::ToolCall;

use crate::block::{BlockKind, ResultState, ToolResultBlock};
use crate::document::ChatDocument;
use crate::link::CallLink;
use crate::span::is_blank;
use crate::status::ToolStatus;

/// A call, and what the document has for an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatCall {
    /// The call as the engine takes it.
    pub call: ToolCall,
    /// The line of its header, from 1.
    pub line: usize,
    /// The answer in the document.
    pub answer: AnswerState,
}

/// The answer that a document has for a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerState {
    /// Neither a result nor a placeholder.
    Missing,
    /// A placeholder waits for a decision.
    Placeholder(PlaceholderState),
    /// A result, the person's own included.
    Given {
        /// The text between the fences.
        content: String,
        /// True for one marked with `(error)`.
        is_error: bool,
    },
}

/// A placeholder as it stands in the document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaceholderState {
    /// The word in the placeholder.
    pub status: ToolStatus,
    /// The text that somebody typed into the block.
    pub typed: Option<String>,
    /// From 1.
    pub line: usize,
}

/// The step that a placeholder is due in the second phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextStep {
    /// The tool runs.
    Execute,
    /// Somebody has to decide.
    Wait,
    /// The model gets this error.
    Fail(String),
    /// The model gets this text in place of a result. The tool does not run, and the cycle pauses.
    Override(String),
}

impl PlaceholderState {
    /// The step that follows from the status and from text that was typed in.
    pub fn next_step(&self) -> NextStep {
        match (self.status, &self.typed) {
            (ToolStatus::Approved | ToolStatus::Pending, Some(text)) => {
                NextStep::Override(text.clone())
            }
            (ToolStatus::Approved, None) => NextStep::Execute,
            (ToolStatus::Pending, None) => NextStep::Wait,
            (ToolStatus::Denied | ToolStatus::Rejected | ToolStatus::Aborted, Some(text)) => {
                NextStep::Fail(text.clone())
            }
            (status @ (ToolStatus::Denied | ToolStatus::Rejected | ToolStatus::Aborted), None) => {
                NextStep::Fail(status.default_text().unwrap_or_default().to_owned())
            }
        }
    }
}

impl ChatCall {
    /// True if the model can be told of it: it has a result, and not merely a place for one.
    pub fn is_answered(&self) -> bool {
        match self.answer {
            AnswerState::Given { .. } => true,
            AnswerState::Missing | AnswerState::Placeholder(_) => false,
        }
    }
}

impl ChatDocument {
    /// Every call of the document, in order.
    pub fn calls(&self) -> Vec<ChatCall> {
        self.links().iter().filter_map(|link| self.call_of(*link)).collect()
    }

    /// The calls that have no result yet. Nothing is sent while there is one.
    pub fn open_calls(&self) -> Vec<ChatCall> {
        let mut calls = self.calls();
        calls.retain(|call| !call.is_answered());
        calls
    }

    pub(crate) fn call_of(&self, link: CallLink) -> Option<ChatCall> {
        let block = self.block(link.call);
        let BlockKind::ToolUse(call) = &block.kind else { return None };
        let answer = link.result.and_then(|place| {
            let result = self.result_at(place)?;
            Some(self.answer_of(result, self.block(place).line))
        });
        let call = ToolCall {
            id: call.id.text_of(self.bytes()),
            name: call.name.text_of(self.bytes()),
            arguments: call.input.content(self.bytes()).text_of(self.bytes()),
        };
        Some(ChatCall { call, line: block.line, answer: answer.unwrap_or(AnswerState::Missing) })
    }

    fn answer_of(&self, result: &ToolResultBlock, line: usize) -> AnswerState {
        let range = result.fence.content(self.bytes());
        let content = || range.text_of(self.bytes());
        match result.state {
            ResultState::Given => AnswerState::Given { content: content(), is_error: false },
            ResultState::Failed => AnswerState::Given { content: content(), is_error: true },
            ResultState::Placeholder { status, .. } => {
                let is_empty = range.of(self.bytes()).split(|b| *b == b'\n').all(is_blank);
                let typed = (!is_empty).then(content);
                AnswerState::Placeholder(PlaceholderState { status, typed, line })
            }
        }
    }
}
