//! Fenced code blocks: three or more backticks at the start of a line.
//!
//! A closing fence has at least as many backticks as the opening one and nothing else but blanks on its
//! line; the info string of an opening fence holds no backtick. A fence that nothing closes is no fence.

use jm_types::text::Fence;
use memchr::memmem;

use crate::span::{ByteRange, TextLine, is_blank, leading_blanks};

/// A closed fenced block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeFence {
    /// The opening line, without its line end.
    pub open: ByteRange,
    /// The words behind the opening backticks, trimmed.
    pub info: ByteRange,
    /// The lines between the fences, line ends included.
    pub body: ByteRange,
    /// The closing line, without its line end.
    pub close: ByteRange,
}

impl CodeFence {
    /// The text of the block: its lines without the last line end, which belongs to the closing fence.
    pub fn content(&self, bytes: &[u8]) -> ByteRange {
        let body = self.body.of(bytes);
        let opened_with_crlf = bytes[self.open.end..self.body.start] == *b"\r\n";
        let ending = match body {
            [.., b'\r', b'\n'] if opened_with_crlf => 2,
            [.., b'\n'] => 1,
            _ => 0,
        };
        ByteRange::new(self.body.start, self.body.end - ending)
    }
}

/// An opening fence: how many backticks, and where its info string is within the line.
pub(crate) fn opening(line: &[u8]) -> Option<(usize, ByteRange)> {
    let ticks = Fence::at_start(line).filter(|fence| fence.is_of_backquotes())?.length();
    let from = ticks + leading_blanks(&line[ticks..]);
    let trailing = line.iter().rev().take_while(|byte| is_blank(&[**byte])).count();
    Some((ticks, ByteRange::new(from, line.len() - trailing)))
}

/// Every line of a document that could close a fence, so that the end of each is found in linear time.
#[derive(Debug)]
pub(crate) struct ClosingFences {
    lines: Vec<ClosingFence>,
}

#[derive(Debug, Clone, Copy)]
struct ClosingFence {
    start: usize,
    ticks: usize,
    /// The longest from this one on: whether a fence is closed at all is known without looking.
    longest_from_here: usize,
}

impl ClosingFences {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let first = bytes.starts_with(b"```").then_some(0);
        let others = memmem::find_iter(bytes, b"\n```").map(|at| at + 1);
        let mut lines: Vec<ClosingFence> =
            first.into_iter().chain(others).filter_map(|start| closing_at(bytes, start)).collect();
        let mut longest = 0;
        for line in lines.iter_mut().rev() {
            longest = longest.max(line.ticks);
            line.longest_from_here = longest;
        }
        Self { lines }
    }

    /// The fence that the opening line `open` begins, if anything closes it.
    pub(crate) fn fence(&self, bytes: &[u8], open: TextLine) -> Option<CodeFence> {
        let (ticks, info) = opening(open.range().of(bytes))?;
        let from = self.lines.partition_point(|line| line.start < open.next);
        let rest = self.lines.get(from..)?;
        if rest.first()?.longest_from_here < ticks {
            return None;
        }
        let close = rest.iter().find(|line| line.ticks >= ticks)?;
        let close = TextLine::at(bytes, close.start)?;
        Some(CodeFence {
            open: open.range(),
            info: ByteRange::new(open.start + info.start, open.start + info.end),
            body: ByteRange::new(open.next, close.start),
            close: close.range(),
        })
    }
}

/// A line of backticks and blanks. Its length is looked at no further than it can close anything.
fn closing_at(bytes: &[u8], start: usize) -> Option<ClosingFence> {
    let rest = &bytes[start..];
    let ticks = rest.iter().take_while(|byte| **byte == b'`').count();
    let after = &rest[ticks..];
    let blanks = leading_blanks(after);
    let closes = matches!(&after[blanks..], [] | [b'\n', ..] | [b'\r', b'\n', ..]);
    closes.then_some(ClosingFence { start, ticks, longest_from_here: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::span::lines;

    /// Info string and content of the first fence.
    fn first_fence(text: &str) -> Option<(String, String)> {
        let bytes = text.as_bytes();
        let closing = ClosingFences::of(bytes);
        let fence = lines(bytes).find_map(|line| closing.fence(bytes, line))?;
        Some((fence.info.text_of(bytes), fence.content(bytes).text_of(bytes)))
    }

    #[test]
    fn a_fence_ends_where_one_as_long_stands_alone() {
        let cases: &[(&str, Option<(&str, &str)>)] = &[
            ("```\na\n```\n", Some(("", "a"))),
            ("```` x y \n```\na\n```` \n", Some(("x y", "```\na"))),
            ("```\n```", Some(("", ""))),
            ("```a\nb\n``` c\n```", Some(("a", "b\n``` c"))),
            ("```a`b\nx\n", None),
            ("```\nnever closed\n", None),
            (" ```\nindented\n", None),
            ("```\r\na\r\r\n```\r\n", Some(("", "a\r"))),
            ("```\na\r\n```\n", Some(("", "a\r"))),
        ];
        for (text, expected) in cases {
            let found = first_fence(text);
            let found = found.as_ref().map(|(info, body)| (info.as_str(), body.as_str()));
            assert_eq!(found, *expected, "{text:?}");
        }
    }
}
