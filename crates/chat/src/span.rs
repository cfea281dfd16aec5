//! Byte ranges of a document, and its lines.
//!
//! A line ends with `\n` or `\r\n`; a lone `\r` is text.

use memchr::{memchr, memrchr};

/// A range of bytes of a document, the end excluded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteRange {
    /// The first byte.
    pub start: usize,
    /// The byte behind the last.
    pub end: usize,
}

impl ByteRange {
    /// A range from the first byte to the one behind the last.
    pub fn new(start: usize, end: usize) -> Self {
        Self { start, end: end.max(start) }
    }

    /// The empty range at an offset.
    pub fn at(offset: usize) -> Self {
        Self { start: offset, end: offset }
    }

    /// The bytes of the range.
    pub fn of(self, bytes: &[u8]) -> &[u8] {
        bytes.get(self.start..self.end).unwrap_or_default()
    }

    /// The bytes as text; invalid UTF-8 becomes U+FFFD.
    pub fn text_of(self, bytes: &[u8]) -> String {
        String::from_utf8_lossy(self.of(bytes)).into_owned()
    }

    /// The number of bytes.
    pub fn len(self) -> usize {
        self.end - self.start
    }

    /// Tells a range without bytes.
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }
}

/// One line: `start..end` is its text, `next` the offset behind its line end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TextLine {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) next: usize,
}

impl TextLine {
    /// The line that begins at an offset, or `None` at the end of the bytes.
    pub(crate) fn at(bytes: &[u8], start: usize) -> Option<Self> {
        let rest = bytes.get(start..).filter(|rest| !rest.is_empty())?;
        Some(match memchr(b'\n', rest) {
            Some(length) => {
                let is_crlf = length > 0 && rest[length - 1] == b'\r';
                let end = start + length - usize::from(is_crlf);
                Self { start, end, next: start + length + 1 }
            }
            None => Self { start, end: bytes.len(), next: bytes.len() },
        })
    }

    pub(crate) fn range(self) -> ByteRange {
        ByteRange::new(self.start, self.end)
    }

    /// The line from an offset inside it on.
    pub(crate) fn from(self, start: usize) -> Self {
        Self { start, ..self }
    }

    /// The line end: `\n`, `\r\n`, or nothing at the end of the document.
    pub(crate) fn ending(self, bytes: &[u8]) -> &[u8] {
        ByteRange::new(self.end, self.next).of(bytes)
    }
}

pub(crate) fn is_blank(text: &[u8]) -> bool {
    text.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r'))
}

/// The column of an offset: characters from the start of its line, from 1.
pub(crate) fn column_of(bytes: &[u8], offset: usize) -> usize {
    let start = memrchr(b'\n', &bytes[..offset]).map_or(0, |at| at + 1);
    String::from_utf8_lossy(&bytes[start..offset]).chars().count() + 1
}

/// How many blanks a text begins with.
pub(crate) fn leading_blanks(text: &[u8]) -> usize {
    text.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

/// The lines of a text, with their ends beside them.
#[cfg(test)]
pub(crate) fn lines(bytes: &[u8]) -> impl Iterator<Item = TextLine> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let line = TextLine::at(bytes, at)?;
        at = line.next;
        Some(line)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_their_ends() {
        let bytes = b"a\r\n\nb\rc\r\n\r\nd\r";
        let found: Vec<(&[u8], &[u8])> =
            lines(bytes).map(|line| (line.range().of(bytes), line.ending(bytes))).collect();
        let expected: Vec<(&[u8], &[u8])> =
            vec![(b"a", b"\r\n"), (b"", b"\n"), (b"b\rc", b"\r\n"), (b"", b"\r\n"), (b"d\r", b"")];
        assert_eq!(found, expected);
    }
}
