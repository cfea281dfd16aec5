//! A document: its bytes, and what they say.

use crate::block::{BlockKind, ChatBlock, ChatRole, ResultState, RoleSection, ToolResultBlock};
use crate::diagnostic::Diagnostic;
use crate::front_matter::FrontMatter;
use crate::link::{BlockPlace, CallLink, link};
use crate::parse::parse;
use crate::span::{ByteRange, TextLine};
use crate::status::PlaceholderForm;

/// A parsed document. Rendering it gives the bytes it was parsed from.
#[derive(Debug)]
pub struct ChatDocument {
    bytes: Vec<u8>,
    front_matter: Option<FrontMatter>,
    preamble: Option<ByteRange>,
    sections: Vec<RoleSection>,
    calls: Vec<CallLink>,
    diagnostics: Vec<Diagnostic>,
}

impl ChatDocument {
    /// Parses any bytes in linear time. What cannot be read is told by `diagnostics`.
    pub fn parse(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        let parsed = parse(&bytes);
        let links = link(&bytes, &parsed.sections);
        let mut diagnostics = parsed.diagnostics;
        diagnostics.extend(links.diagnostics);
        let evaluated = parsed.front_matter.and_then(|front| front.evaluate(&bytes));
        diagnostics.extend(evaluated.and_then(Result::err).map(Diagnostic::from));
        diagnostics.sort_by_key(|diagnostic| (diagnostic.line, diagnostic.column));
        let (front_matter, preamble) = (parsed.front_matter, parsed.preamble);
        let (sections, calls) = (parsed.sections, links.calls);
        Self { bytes, front_matter, preamble, sections, calls, diagnostics }
    }

    /// The text, byte for byte.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The document as bytes.
    pub fn render(self) -> Vec<u8> {
        self.bytes
    }

    /// The block of settings at the beginning.
    pub fn front_matter(&self) -> Option<&FrontMatter> {
        self.front_matter.as_ref()
    }

    /// Words before the first role marker, which are not sent.
    pub fn preamble(&self) -> Option<ByteRange> {
        self.preamble
    }

    /// All sections in the order of the text.
    pub fn sections(&self) -> &[RoleSection] {
        &self.sections
    }

    /// Findings in the order of the text.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    pub(crate) fn links(&self) -> &[CallLink] {
        &self.calls
    }

    pub(crate) fn block(&self, place: BlockPlace) -> &ChatBlock {
        &self.sections[place.section].blocks[place.block]
    }

    pub(crate) fn result_at(&self, place: BlockPlace) -> Option<&ToolResultBlock> {
        match &self.block(place).kind {
            BlockKind::ToolResult(result) => Some(result),
            BlockKind::Text
            | BlockKind::ToolUse(_)
            | BlockKind::Thinking(_)
            | BlockKind::Aborted(_)
            | BlockKind::Malformed => None,
        }
    }

    /// The last call with an id, as later messages may use an id again.
    pub(crate) fn link_of(&self, id: &str) -> Option<CallLink> {
        let is_it = |link: &&CallLink| match &self.block(link.call).kind {
            BlockKind::ToolUse(call) => call.id.of(&self.bytes) == id.as_bytes(),
            BlockKind::Text
            | BlockKind::ToolResult(_)
            | BlockKind::Thinking(_)
            | BlockKind::Aborted(_)
            | BlockKind::Malformed => false,
        };
        self.calls.iter().rev().find(is_it).copied()
    }

    /// The line end that new lines get: that of the first line.
    pub fn line_end(&self) -> &'static str {
        match TextLine::at(&self.bytes, 0).map(|line| line.ending(&self.bytes)) {
            Some(b"\r\n") => "\r\n",
            _ => "\n",
        }
    }

    /// The form in which new placeholders are written: that of the last one in the document.
    pub fn placeholder_form(&self) -> PlaceholderForm {
        let blocks = self.sections.iter().rev().flat_map(|section| section.blocks.iter().rev());
        let form = |block: &ChatBlock| match &block.kind {
            BlockKind::ToolResult(ToolResultBlock {
                state: ResultState::Placeholder { form, .. },
                ..
            }) => Some(*form),
            _ => None,
        };
        blocks.filter_map(form).next().unwrap_or_default()
    }

    /// The last section, if that role has it.
    pub(crate) fn last_section(&self, role: ChatRole) -> Option<&RoleSection> {
        self.sections.last().filter(|section| section.role == role)
    }
}
