//! Additions to the end of a conversation: an answer, a fresh `@You:`, the mark of an aborted one.

use jm_types::{Message, Part};

use super::ByteSplice;
use crate::block::ChatRole;
use crate::document::ChatDocument;
use crate::edit_error::EditError;
use crate::span::{TextLine, is_blank};

impl ChatDocument {
    /// Appends a message of the assistant: its words, thoughts and calls, in the order in which they came.
    pub fn with_assistant(&self, message: &Message) -> Result<Self, EditError> {
        let writer = self.writer();
        let mut blocks: Vec<String> = Vec::new();
        for part in &message.parts {
            match part {
                Part::Text { text, .. } => blocks.extend(writer.words(text)),
                Part::Thinking { text, native } => {
                    blocks.extend(writer.thinking(text, native.as_ref()));
                }
                Part::Opaque { native } => blocks.extend(writer.thinking("", Some(native))),
                Part::Call { call, .. } => blocks.push(writer.tool_use(call)?),
                // The assistant says neither.
                Part::Image { .. } | Part::Result { .. } => {}
            }
        }
        self.with_section(ChatRole::Assistant, &blocks)
    }

    /// Appends a fresh `@You:`, unless the document ends with an empty one.
    pub fn with_you(&self, words: &str) -> Result<Self, EditError> {
        let blocks: Vec<String> = self.writer().words(words).into_iter().collect();
        let last = self.last_section(ChatRole::You);
        match (last.filter(|section| section.blocks.is_empty()), blocks.is_empty()) {
            (Some(_), true) => self.spliced(&[]),
            (Some(_), false) | (None, _) => self.with_section(ChatRole::You, &blocks),
        }
    }

    /// Appends the mark of an interrupted answer to the last message of the assistant.
    pub fn with_aborted(&self, text: &str) -> Result<Self, EditError> {
        let is_assistant = |section: &&crate::RoleSection| section.role == ChatRole::Assistant;
        let section =
            self.sections().iter().rev().find(is_assistant).ok_or(EditError::NoAssistant)?;
        let (mark, end) = (self.writer().aborted(text), self.line_end());
        let splice = match section.blocks.last() {
            Some(block) => ByteSplice::insert(block.span.end, &format!("{end}{end}{mark}")),
            None => {
                let line = TextLine::at(self.bytes(), section.marker.end);
                let at = line.map_or(section.marker.end, |line| line.end);
                ByteSplice::insert(at, &format!("{end}{mark}"))
            }
        };
        self.spliced(&[splice])
    }

    fn with_section(&self, role: ChatRole, blocks: &[String]) -> Result<Self, EditError> {
        let end = self.line_end();
        let at = self.bytes().len();
        let mut text = format!("{}{}{end}", self.separation(at), role.marker());
        for (number, block) in blocks.iter().enumerate() {
            text.push_str(if number == 0 { "" } else { end });
            text.push_str(block);
            text.push_str(end);
        }
        self.spliced(&[ByteSplice::insert(at, &text)])
    }

    /// The line ends that make a blank line before an offset.
    pub(super) fn separation(&self, at: usize) -> String {
        let before = &self.bytes()[..at];
        let text = before.strip_prefix(b"\xef\xbb\xbf").unwrap_or(before);
        let end = self.line_end();
        if text.is_empty() {
            return String::new();
        }
        let Some(last) = text.strip_suffix(b"\n") else { return end.repeat(2) };
        let line = last.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
        if is_blank(line) { String::new() } else { end.to_owned() }
    }
}
