//! Edits: each is a few splices of bytes, checked to change nothing but what it is about.
//!
//! Law: bytes outside the splices stay, and so does the meaning of every block outside them. An edit that
//! would break this (a code block left open further up would swallow what is added) is refused.

use crate::block::{BlockKind, ChatRole};
use crate::diagnostic::{self, Diagnostic};
use crate::document::ChatDocument;
use crate::span::ByteRange;

mod append;
mod results;

/// A replacement of a range of bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ByteSplice {
    pub range: ByteRange,
    pub bytes: Vec<u8>,
}

impl ByteSplice {
    pub(crate) fn replace(range: ByteRange, text: &str) -> Self {
        Self { range, bytes: text.as_bytes().to_vec() }
    }

    pub(crate) fn insert(at: usize, text: &str) -> Self {
        Self::replace(ByteRange::at(at), text)
    }
}

/// A result to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewResult {
    pub content: String,
    pub is_error: bool,
    pub is_json: bool,
}

impl NewResult {
    pub fn text(content: impl Into<String>) -> Self {
        Self { content: content.into(), is_error: false, is_json: false }
    }

    pub fn json(content: impl Into<String>) -> Self {
        Self { content: content.into(), is_error: false, is_json: true }
    }

    pub fn error(content: impl Into<String>) -> Self {
        Self { content: content.into(), is_error: true, is_json: false }
    }

    /// A failure that printed something first.
    pub fn error_with_output(error: &str, output: &str) -> Self {
        match output.trim().is_empty() {
            true => Self::error(error),
            false => Self::error(format!("{error}\n\nPartial output:\n{output}")),
        }
    }
}

/// A reason why a document cannot be edited as asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    #[error("the document has no call `{id}`")]
    NoCall { id: String },
    #[error("the call `{id}` has a result or a placeholder already")]
    Answered { id: String },
    #[error("the call `{id}` has no placeholder")]
    NoPlaceholder { id: String },
    #[error("the document has no message of the assistant")]
    NoAssistant,
    #[error(
        "`{name}` cannot be written in a header: it is empty or holds a backtick or a line end"
    )]
    Unwritable { name: String },
    #[error("line {line}: this block has no end and would swallow what is added; close it first")]
    Swallowed { line: usize },
}

impl ChatDocument {
    /// The document with splices made, which are in order and do not overlap.
    pub(crate) fn spliced(&self, splices: &[ByteSplice]) -> Result<Self, EditError> {
        let (Some(first), Some(last)) = (splices.first(), splices.last()) else {
            return Ok(Self::parse(self.bytes()));
        };
        let new = Self::parse(splice(self.bytes(), splices));
        let (start, end) = (first.range.start, last.range.end);
        let behind = self.bytes().len() - end;
        let before = |mark: &&Mark| mark.span.end <= start;
        let is_same_before =
            self.marks().iter().filter(before).eq(new.marks().iter().filter(before));
        let after = |marks: Vec<Mark>, length: usize| -> Vec<Mark> {
            let from = length - behind;
            let kept =
                marks.into_iter().filter(|mark| mark.span.start >= from && mark.span.end > from);
            kept.map(|mark| mark.counted_from(from)).collect()
        };
        let is_same_after =
            after(self.marks(), self.bytes().len()) == after(new.marks(), new.bytes().len());
        match is_same_before && is_same_after {
            true => Ok(new),
            false => Err(EditError::Swallowed { line: self.first_open_fence() }),
        }
    }

    /// Every marker and block, with what it is.
    fn marks(&self) -> Vec<Mark> {
        let mut marks = Vec::new();
        for section in self.sections() {
            marks.push(Mark { span: section.marker, kind: MarkKind::Role(section.role) });
            let block = |block: &crate::ChatBlock| Mark {
                span: block.span,
                kind: MarkKind::Block(std::mem::discriminant(&block.kind)),
            };
            marks.extend(section.blocks.iter().map(block));
        }
        marks
    }

    fn first_open_fence(&self) -> usize {
        let is_open = |one: &&Diagnostic| one.message.starts_with(diagnostic::UNCLOSED);
        self.diagnostics().iter().find(is_open).map_or(1, |one| one.line)
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Mark {
    span: ByteRange,
    kind: MarkKind,
}

#[derive(Debug, PartialEq, Eq)]
enum MarkKind {
    Role(ChatRole),
    Block(std::mem::Discriminant<BlockKind>),
}

impl Mark {
    fn counted_from(self, from: usize) -> Self {
        let span = ByteRange::new(self.span.start - from, self.span.end - from);
        Self { span, ..self }
    }
}

/// Makes splices, which are in order and do not overlap.
fn splice(bytes: &[u8], splices: &[ByteSplice]) -> Vec<u8> {
    let added: usize = splices.iter().map(|splice| splice.bytes.len()).sum();
    let mut out = Vec::with_capacity(bytes.len() + added);
    let mut at = 0;
    for splice in splices {
        out.extend_from_slice(&bytes[at..splice.range.start]);
        out.extend_from_slice(&splice.bytes);
        at = splice.range.end;
    }
    out.extend_from_slice(&bytes[at..]);
    out
}
