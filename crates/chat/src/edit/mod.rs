//! Edits: each is a few splices of bytes, checked to change nothing but what it is about.
//!
//! Law: bytes outside the splices stay, and so does the meaning of every block outside them. An edit that
//! would break this (a code block left open further up would swallow what is added) is refused.

use crate::block::{BlockKind, ChatRole};
use crate::diagnostic::{self, Diagnostic};
use crate::document::ChatDocument;
use crate::edit_error::EditError;
use crate::span::ByteRange;

mod append;
mod results;

/// A replacement of a range of bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ByteSplice {
    /// The bytes that go.
    pub range: ByteRange,
    /// The bytes that take their place.
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

impl ChatDocument {
    /// The document with splices made, which are in order and do not overlap. Everything that no splice
    /// touches must be there afterwards, in its place, and nothing else.
    pub(crate) fn spliced(&self, splices: &[ByteSplice]) -> Result<Self, EditError> {
        let new = Self::parse(splice(self.bytes(), splices));
        let mut kept = Vec::new();
        let mut added = Vec::new();
        let mut old_marks = self.marks().into_iter().peekable();
        let mut shift = Shift::default();
        for splice in splices {
            let is_before =
                |mark: &Mark| mark.span.start < splice.range.start.max(splice.range.end);
            while let Some(mark) = old_marks.next_if(is_before) {
                if mark.span.end <= splice.range.start {
                    kept.push(shift.moved(mark));
                }
            }
            let start = shift.offset(splice.range.start);
            added.push(ByteRange::new(start, start + splice.bytes.len()));
            shift.count(splice);
        }
        kept.extend(old_marks.map(|mark| shift.moved(mark)));
        let mut added = added.into_iter().peekable();
        let is_old = |mark: &Mark| {
            while added.next_if(|added| added.end <= mark.span.start).is_some() {}
            added.peek().is_none_or(|added| mark.span.end <= added.start)
        };
        match new.marks().into_iter().filter(is_old).eq(kept) {
            true => Ok(new),
            false => Err(EditError::Swallowed { line: self.first_open_fence() }),
        }
    }

    /// Everything that the document holds, with what it is.
    fn marks(&self) -> Vec<Mark> {
        let mut marks = Vec::new();
        let front = self.front_matter().map(|front| front.span);
        marks.extend(front.map(|span| Mark { span, kind: MarkKind::FrontMatter }));
        marks.extend(self.preamble().map(|span| Mark { span, kind: MarkKind::Preamble }));
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
    FrontMatter,
    Preamble,
    Role(ChatRole),
    Block(std::mem::Discriminant<BlockKind>),
}

/// How far the splices so far have moved what is behind them.
#[derive(Debug, Default)]
struct Shift {
    removed: usize,
    added: usize,
}

impl Shift {
    fn count(&mut self, splice: &ByteSplice) {
        self.removed += splice.range.len();
        self.added += splice.bytes.len();
    }

    fn offset(&self, offset: usize) -> usize {
        offset + self.added - self.removed
    }

    fn moved(&self, mark: Mark) -> Mark {
        let span = ByteRange::new(self.offset(mark.span.start), self.offset(mark.span.end));
        Mark { span, ..mark }
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
