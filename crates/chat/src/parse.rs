//! The parser: one pass over the lines outside of fences.
//!
//! Laws: a fence is looked for before anything else, and its lines are skipped whole. Every line is read a
//! bounded number of times, whatever the document holds.

use memchr::memchr_iter;

use crate::block::{BlockKind, ChatBlock, ChatRole, RoleSection, ThinkingBlock, ToolUseBlock};
use crate::diagnostic::{self, Diagnostic, Severity};
use crate::fence::{self, ClosingFences, CodeFence};
use crate::front_matter::{self, FrontMatter};
use crate::recognize::{self, Header};
use crate::span::{ByteRange, TextLine, column_of, is_blank, leading_blanks};

mod tool;

/// The parts of a document, read from its bytes.
#[derive(Debug, Default)]
pub(crate) struct Parsed {
    pub(crate) front_matter: Option<FrontMatter>,
    pub(crate) preamble: Option<ByteRange>,
    pub(crate) sections: Vec<RoleSection>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

pub(crate) fn parse(bytes: &[u8]) -> Parsed {
    let mut parser = Parser {
        bytes,
        fences: ClosingFences::of(bytes),
        at: 0,
        line_number: 1,
        text: None,
        thinking: None,
        parsed: Parsed::default(),
    };
    parser.front_matter();
    while let Some(line) = TextLine::at(bytes, parser.at) {
        parser.line(line);
    }
    parser.end_section(bytes.len());
    parser.parsed
}

struct Parser<'a> {
    bytes: &'a [u8],
    fences: ClosingFences,
    /// The offset of the next line, and its number.
    at: usize,
    line_number: usize,
    /// Words that no block has ended yet.
    text: Option<OpenText>,
    thinking: Option<OpenThinking>,
    parsed: Parsed,
}

struct OpenText {
    span: ByteRange,
    line: usize,
}

struct OpenThinking {
    start: usize,
    line: usize,
    attributes: ByteRange,
    /// The first line behind the tag.
    content: usize,
    ends_with_crlf: bool,
}

impl Parser<'_> {
    fn front_matter(&mut self) {
        let start = if self.bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        self.at = start;
        match front_matter::at_start(self.bytes, start) {
            front_matter::Start::None => {}
            front_matter::Start::Unclosed => {
                let line = TextLine { start, end: start, next: start };
                self.warn(line, diagnostic::FRONT_MATTER_UNCLOSED);
            }
            front_matter::Start::Closed(found, next) => {
                self.parsed.front_matter = Some(found);
                self.move_to(next);
            }
        }
    }

    /// One line outside of every fence.
    fn line(&mut self, line: TextLine) {
        let text = line.range().of(self.bytes);
        if let Some(role) = recognize::role(text) {
            return self.begin_section(role, line);
        }
        if recognize::mistaken_role(text) {
            let message = diagnostic::unknown_role(&String::from_utf8_lossy(text.trim_ascii_end()));
            self.warn(line, &message);
        }
        self.content(line);
    }

    fn begin_section(&mut self, role: ChatRole, line: TextLine) {
        self.end_section(line.start);
        let marker = ByteRange::new(line.start, line.start + role.marker().len());
        let number = self.line_number;
        let span = ByteRange::at(line.start);
        self.parsed.sections.push(RoleSection {
            role,
            marker,
            span,
            line: number,
            blocks: Vec::new(),
        });
        let rest = line.from(marker.end + leading_blanks(&self.bytes[marker.end..line.end]));
        self.content(rest);
    }

    /// A line, or the part of one behind a role marker.
    fn content(&mut self, line: TextLine) {
        let text = line.range().of(self.bytes);
        if is_blank(text) {
            return self.move_to(line.next);
        }
        if self.thinking.is_some() {
            return self.thought(line, text);
        }
        match (text[0], self.role()) {
            (b'`', _) => self.maybe_fence(line),
            (b'*', Some(ChatRole::Assistant)) => match recognize::tool_use(text) {
                Some(Header::Read(header)) => self.tool_use(line, header),
                Some(Header::Broken) => self.broken_header(line, diagnostic::USE_HEADER),
                None => self.words(line),
            },
            (b'*', Some(ChatRole::You)) => match recognize::tool_result(text) {
                Some(Header::Read(header)) => self.tool_result(line, header),
                Some(Header::Broken) => self.broken_header(line, diagnostic::RESULT_HEADER),
                None => self.words(line),
            },
            (b'<', Some(ChatRole::Assistant)) => self.tag(line, text),
            _ => self.words(line),
        }
    }

    fn words(&mut self, line: TextLine) {
        self.extend_text(line.range());
        self.move_to(line.next);
    }

    fn broken_header(&mut self, line: TextLine, message: &str) {
        self.warn(line, message);
        self.words(line);
    }

    /// A line that begins with a backtick: a fence, whose lines are all words, or just words.
    fn maybe_fence(&mut self, line: TextLine) {
        match self.fences.fence(self.bytes, line) {
            Some(fence) => self.fenced_words(line, &fence),
            None => {
                if fence::opening(line.range().of(self.bytes)).is_some() {
                    self.warn(line, diagnostic::TEXT_UNCLOSED);
                }
                self.words(line);
            }
        }
    }

    fn fenced_words(&mut self, line: TextLine, fence: &CodeFence) {
        self.extend_text(ByteRange::new(line.start, fence.close.end));
        self.move_behind(fence);
    }

    /// A line inside of a thinking block.
    fn thought(&mut self, line: TextLine, text: &[u8]) {
        if recognize::is_thinking_end(text) {
            self.end_thinking(line.start, line.end, true);
            return self.move_to(line.next);
        }
        match self.fences.fence(self.bytes, line) {
            Some(fence) => self.move_behind(&fence),
            None => self.move_to(line.next),
        }
    }

    fn tag(&mut self, line: TextLine, text: &[u8]) {
        if let Some(said) = recognize::aborted(text) {
            let said = ByteRange::new(line.start + said.start, line.start + said.end);
            self.block(line.range(), self.line_number, BlockKind::Aborted(said));
            return self.move_to(line.next);
        }
        let Some(tag) = recognize::thinking(text) else { return self.words(line) };
        let attributes =
            ByteRange::new(line.start + tag.attributes.start, line.start + tag.attributes.end);
        if tag.is_self_closing {
            let content = ByteRange::at(line.end);
            let block = ThinkingBlock { attributes, content, is_closed: true };
            self.block(line.range(), self.line_number, BlockKind::Thinking(block));
        } else {
            self.end_text();
            self.thinking = Some(OpenThinking {
                start: line.start,
                line: self.line_number,
                attributes,
                content: line.next,
                ends_with_crlf: line.ending(self.bytes) == b"\r\n",
            });
        }
        self.move_to(line.next);
    }

    /// Ends the open thinking block: its content ends at `content_end`, the block at `end`.
    fn end_thinking(&mut self, content_end: usize, end: usize, is_closed: bool) {
        let Some(open) = self.thinking.take() else { return };
        let ending = match &self.bytes[open.content..content_end] {
            [.., b'\r', b'\n'] if open.ends_with_crlf => 2,
            [.., b'\n'] => 1,
            _ => 0,
        };
        let content = ByteRange::new(open.content, content_end - ending);
        let block = ThinkingBlock { attributes: open.attributes, content, is_closed };
        self.block(ByteRange::new(open.start, end), open.line, BlockKind::Thinking(block));
    }

    fn end_section(&mut self, end: usize) {
        if let Some(open) = &self.thinking {
            let (start, number, content) = (open.start, open.line, open.content);
            let diagnostic = Diagnostic {
                severity: Severity::Warning,
                line: number,
                column: column_of(self.bytes, start),
                message: diagnostic::THINKING_UNCLOSED.to_owned(),
            };
            self.parsed.diagnostics.push(diagnostic);
            let last = start + self.bytes[start..end].trim_ascii_end().len();
            self.end_thinking(last.max(content), last, false);
        }
        self.end_text();
        if let Some(section) = self.parsed.sections.last_mut() {
            section.span.end = end;
        }
    }

    fn role(&self) -> Option<ChatRole> {
        self.parsed.sections.last().map(|section| section.role)
    }

    fn extend_text(&mut self, range: ByteRange) {
        let line = self.line_number;
        match &mut self.text {
            Some(text) => text.span.end = range.end,
            None => self.text = Some(OpenText { span: range, line }),
        }
    }

    fn end_text(&mut self) {
        let Some(text) = self.text.take() else { return };
        if let Some(section) = self.parsed.sections.last_mut() {
            section.blocks.push(ChatBlock {
                span: text.span,
                line: text.line,
                kind: BlockKind::Text,
            });
            return;
        }
        self.parsed.preamble = Some(text.span);
        self.parsed.diagnostics.push(Diagnostic {
            severity: Severity::Warning,
            line: text.line,
            column: 1,
            message: diagnostic::BEFORE_FIRST_ROLE.to_owned(),
        });
    }

    fn block(&mut self, span: ByteRange, line: usize, kind: BlockKind) {
        self.end_text();
        if let Some(section) = self.parsed.sections.last_mut() {
            section.blocks.push(ChatBlock { span, line, kind });
        }
    }

    /// Goes on at an offset, and counts the lines up to there.
    fn move_to(&mut self, offset: usize) {
        let passed = &self.bytes[self.at..offset];
        self.line_number += memchr_iter(b'\n', passed).count();
        self.at = offset;
    }

    fn move_behind(&mut self, fence: &CodeFence) {
        let next =
            TextLine::at(self.bytes, fence.close.start).map_or(self.bytes.len(), |line| line.next);
        self.move_to(next);
    }

    /// Reports something about the `line` that is being read.
    fn warn(&mut self, line: TextLine, message: &str) {
        self.parsed.diagnostics.push(Diagnostic {
            severity: Severity::Warning,
            line: self.line_number,
            column: column_of(self.bytes, line.start),
            message: message.to_owned(),
        });
    }
}
