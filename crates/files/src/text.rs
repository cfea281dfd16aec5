//! A file as text: its bytes, and an index of lines that each keep their own terminator.
//!
//! Law: an edit splices bytes. Everything outside the edited span is identical by construction,
//! whatever the encoding, the newlines or the byte order mark.

use std::ops::Range;

use memchr::memchr_iter;

pub use jm_types::ReplaceError;
pub use lines::{LineRangeError, replace_lines};
pub use replace::{ReplaceWhich, replace_text};

mod lines;
mod replace;
#[cfg(test)]
mod tests;

const UTF8_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The bytes of one file and where its lines lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    bytes: Vec<u8>,
    mark: usize,
    lines: Vec<TextLine>,
}

/// One line: the offsets of its content, and how it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextLine {
    /// The offset of its first byte.
    pub start: usize,
    /// The end of the content; the terminator follows.
    pub end: usize,
    /// The bytes that end it.
    pub terminator: Terminator,
}

/// The terminator of a line. A lone CR is content: no editor of today ends a line with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Terminator {
    /// The last line, without an end.
    None,
    /// A line feed.
    Lf,
    /// A carriage return and a line feed.
    CrLf,
}

/// The newlines of a whole file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewlineKind {
    /// No line has an end.
    None,
    /// Line feeds only.
    Lf,
    /// Carriage returns with line feeds only.
    CrLf,
    /// `first_differing_line` is the first line, from 1, that ends otherwise than line 1.
    Mixed {
        /// Lines that end with a line feed.
        lf: usize,
        /// Lines that end with both.
        crlf: usize,
        /// From 1.
        first_differing_line: usize,
    },
}

impl Terminator {
    /// The bytes as they stand in the file.
    pub fn bytes(self) -> &'static [u8] {
        match self {
            Terminator::None => b"",
            Terminator::Lf => b"\n",
            Terminator::CrLf => b"\r\n",
        }
    }
}

impl TextLine {
    /// The offset of the next line, past the terminator.
    fn next(self) -> usize {
        self.end + self.terminator.bytes().len()
    }
}

impl Text {
    /// Finds the lines of a content, whatever its encoding.
    pub fn new(bytes: Vec<u8>) -> Text {
        let mark = if bytes.starts_with(UTF8_MARK) { UTF8_MARK.len() } else { 0 };
        let lines = index(&bytes, mark);
        Text { bytes, mark, lines }
    }

    /// The whole content.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The whole content, without a copy.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// The UTF-8 byte order mark, or nothing. It belongs to no line.
    pub fn byte_order_mark(&self) -> &[u8] {
        &self.bytes[..self.mark]
    }

    /// Lines, an unfinished last one included.
    pub fn line_count(&self) -> usize {
        self.lines.len()
    }

    /// The lines with their places.
    pub fn lines(&self) -> &[TextLine] {
        &self.lines
    }

    /// The content of a line, counted from 0 like any index, without its terminator.
    pub fn line(&self, index: usize) -> &[u8] {
        let line = self.lines[index];
        &self.bytes[line.start..line.end]
    }

    /// The contents of all lines, without their terminators.
    pub fn contents(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.lines.iter().map(|line| &self.bytes[line.start..line.end])
    }

    /// True if the last byte ends a line.
    pub fn ends_with_newline(&self) -> bool {
        self.lines.last().is_some_and(|line| line.terminator != Terminator::None)
    }

    /// The line ends in use.
    pub fn newline_kind(&self) -> NewlineKind {
        let count = |kind| self.lines.iter().filter(|line| line.terminator == kind).count();
        match (count(Terminator::Lf), count(Terminator::CrLf)) {
            (0, 0) => NewlineKind::None,
            (_, 0) => NewlineKind::Lf,
            (0, _) => NewlineKind::CrLf,
            (lf, crlf) => {
                let first = self.lines[0].terminator;
                let same = self.lines.iter().take_while(|line| line.terminator == first).count();
                NewlineKind::Mixed { lf, crlf, first_differing_line: same + 1 }
            }
        }
    }

    /// The offset of the first CR that no LF follows.
    pub fn lone_cr(&self) -> Option<usize> {
        memchr_iter(b'\r', &self.bytes).find(|at| self.bytes.get(at + 1) != Some(&b'\n'))
    }

    /// The line, from 1, that holds an offset.
    pub fn line_number(&self, offset: usize) -> usize {
        self.lines.partition_point(|line| line.start <= offset).max(1)
    }

    /// The offset of the first byte that is not UTF-8.
    pub fn foreign_byte(&self) -> Option<usize> {
        foreign_byte(&self.bytes)
    }

    /// Tells whether a byte order mark is one of UTF-16, or of its larger sibling UTF-32.
    pub fn is_utf16(&self) -> bool {
        is_utf16(&self.bytes)
    }
}

/// The offset of the first byte that is not UTF-8.
pub fn foreign_byte(bytes: &[u8]) -> Option<usize> {
    std::str::from_utf8(bytes).err().map(|error| error.valid_up_to())
}

/// Tells whether a byte order mark is one of UTF-16, or of its larger sibling UTF-32.
pub fn is_utf16(bytes: &[u8]) -> bool {
    let marks = [b"\xFF\xFE".as_slice(), b"\xFE\xFF", b"\0\0\xFE\xFF"];
    marks.iter().any(|mark| bytes.starts_with(mark))
}

fn index(bytes: &[u8], mark: usize) -> Vec<TextLine> {
    let mut lines = Vec::new();
    let mut start = mark;
    for newline in memchr_iter(b'\n', bytes) {
        let crlf = newline > start && bytes[newline - 1] == b'\r';
        let (end, terminator) =
            if crlf { (newline - 1, Terminator::CrLf) } else { (newline, Terminator::Lf) };
        lines.push(TextLine { start, end, terminator });
        start = newline + 1;
    }
    if start < bytes.len() {
        lines.push(TextLine { start, end: bytes.len(), terminator: Terminator::None });
    }
    lines
}

/// Puts `new` where `range` was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Splice {
    /// Bytes of the old text that go.
    pub range: Range<usize>,
    /// Bytes that take their place.
    pub new: Vec<u8>,
}

/// Applies splices that are sorted and do not overlap; their ranges count the bytes before.
pub fn splice(bytes: &[u8], splices: &[Splice]) -> Vec<u8> {
    let added: usize = splices.iter().map(|splice| splice.new.len()).sum();
    let mut after = Vec::with_capacity(bytes.len() + added);
    let mut copied = 0;
    for splice in splices {
        after.extend_from_slice(&bytes[copied..splice.range.start]);
        after.extend_from_slice(&splice.new);
        copied = splice.range.end;
    }
    after.extend_from_slice(&bytes[copied..]);
    after
}

/// Adds bytes at the end exactly as they are, as a file opened for appending does.
pub fn append(text: &Text, new: &[u8]) -> Vec<u8> {
    [text.bytes(), new].concat()
}
