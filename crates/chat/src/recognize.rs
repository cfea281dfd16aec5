//! Lines that mean something: role markers, headers of tool blocks, tags.
//!
//! Everything here looks at one line outside of fences, and gives ranges within that line.

use crate::block::ChatRole;
use crate::span::{ByteRange, is_blank, leading_blanks};

const TOOL_USE: &[u8] = b"**Tool Use:**";
const TOOL_RESULT: &[u8] = b"**Tool Result:**";
const THINKING: &[u8] = b"<thinking";
const THINKING_END: &[u8] = b"</thinking>";
const ABORTED: &[u8] = b"<!-- flemma:aborted:";
const COMMENT_END: &[u8] = b"-->";

/// The speaker whose marker the line begins with.
pub(crate) fn role(line: &[u8]) -> Option<ChatRole> {
    if line.first() != Some(&b'@') {
        return None;
    }
    ChatRole::ALL.into_iter().find(|role| line.starts_with(role.marker().as_bytes()))
}

/// A line that is nothing but a marker which people write for one of ours.
pub(crate) fn mistaken_role(line: &[u8]) -> bool {
    const MISTAKEN: [&[u8]; 6] =
        [b"@system:", b"@you:", b"@assistant:", b"@user:", b"@human:", b"@ai:"];
    let line = line.trim_ascii_end();
    line.first() == Some(&b'@') && MISTAKEN.iter().any(|word| line.eq_ignore_ascii_case(word))
}

/// A line that would be read as structure, so that a text which holds it has to be escaped.
pub(crate) fn is_structure(line: &[u8]) -> bool {
    match line.first() {
        Some(b'@') => role(line).is_some(),
        Some(b'*') => line.starts_with(TOOL_USE) || line.starts_with(TOOL_RESULT),
        Some(b'<') => [THINKING, THINKING_END, ABORTED].iter().any(|tag| line.starts_with(tag)),
        Some(b'`') => crate::fence::opening(line).is_some(),
        _ => false,
    }
}

/// A header of a tool block, or a line that begins like one and is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Header<T> {
    Read(T),
    Broken,
}

/// Name and id of ``**Tool Use:** `name` (`id`)``.
pub(crate) fn tool_use(line: &[u8]) -> Option<Header<(ByteRange, ByteRange)>> {
    line.starts_with(TOOL_USE).then(|| {
        let mut words = Words { line, at: TOOL_USE.len() };
        words.use_header().map_or(Header::Broken, Header::Read)
    })
}

/// Id and suffix words of ``**Tool Result:** `id` (words)``.
pub(crate) fn tool_result(line: &[u8]) -> Option<Header<(ByteRange, Vec<ByteRange>)>> {
    line.starts_with(TOOL_RESULT).then(|| {
        let mut words = Words { line, at: TOOL_RESULT.len() };
        words.result_header().map_or(Header::Broken, Header::Read)
    })
}

/// An opening tag of a thinking block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ThinkingTag {
    pub(crate) attributes: ByteRange,
    pub(crate) is_self_closing: bool,
}

pub(crate) fn thinking(line: &[u8]) -> Option<ThinkingTag> {
    let inner = line.trim_ascii_end().strip_prefix(THINKING)?.strip_suffix(b">")?;
    let (inner, is_self_closing) = match inner.strip_suffix(b"/") {
        Some(inner) => (inner, true),
        None => (inner, false),
    };
    let blanks = leading_blanks(inner);
    if inner.contains(&b'>') || inner.contains(&b'<') || (blanks == 0 && !inner.is_empty()) {
        return None;
    }
    let start = THINKING.len() + blanks;
    let attributes = ByteRange::new(start, start + inner[blanks..].trim_ascii_end().len());
    Some(ThinkingTag { attributes, is_self_closing })
}

pub(crate) fn is_thinking_end(line: &[u8]) -> bool {
    line.trim_ascii_end() == THINKING_END
}

/// The text of `<!-- flemma:aborted: text -->`.
pub(crate) fn aborted(line: &[u8]) -> Option<ByteRange> {
    let text = line.trim_ascii_end().strip_prefix(ABORTED)?.strip_suffix(COMMENT_END)?;
    let start = ABORTED.len() + leading_blanks(text);
    Some(ByteRange::new(start, ABORTED.len() + text.trim_ascii_end().len()))
}

/// The words of a header, from left to right.
struct Words<'a> {
    line: &'a [u8],
    at: usize,
}

impl Words<'_> {
    fn use_header(&mut self) -> Option<(ByteRange, ByteRange)> {
        let name = self.quoted()?;
        self.expect(b'(')?;
        let id = self.quoted()?;
        self.expect(b')')?;
        is_blank(&self.line[self.at..]).then_some((name, id))
    }

    fn result_header(&mut self) -> Option<(ByteRange, Vec<ByteRange>)> {
        let id = self.quoted()?;
        if is_blank(&self.line[self.at..]) {
            return Some((id, Vec::new()));
        }
        self.expect(b'(')?;
        let rest = &self.line[self.at..];
        let length = rest.iter().position(|byte| *byte == b')')?;
        let suffix = words(ByteRange::new(self.at, self.at + length), self.line);
        is_blank(&rest[length + 1..]).then_some((id, suffix))
    }

    fn quoted(&mut self) -> Option<ByteRange> {
        self.expect(b'`')?;
        let length = self.line[self.at..].iter().position(|byte| *byte == b'`')?;
        let range = ByteRange::new(self.at, self.at + length);
        self.at += length + 1;
        // Names and ids are compared with those of models and tools, which are text.
        let is_text = std::str::from_utf8(range.of(self.line)).is_ok();
        (length > 0 && is_text).then_some(range)
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        self.at += leading_blanks(&self.line[self.at..]);
        (self.line.get(self.at) == Some(&byte)).then(|| self.at += 1)
    }
}

/// The words of a range, parted by blanks.
pub(crate) fn words(range: ByteRange, bytes: &[u8]) -> Vec<ByteRange> {
    let mut found = Vec::new();
    let mut start = None;
    for (at, byte) in range.of(bytes).iter().enumerate() {
        match (matches!(byte, b' ' | b'\t'), start) {
            (false, None) => start = Some(range.start + at),
            (true, Some(from)) => {
                found.push(ByteRange::new(from, range.start + at));
                start = None;
            }
            (true, None) | (false, Some(_)) => {}
        }
    }
    found.extend(start.map(|from| ByteRange::new(from, range.end)));
    found
}

/// The value of `key=value`, within a word.
pub(crate) fn value_of(word: ByteRange, bytes: &[u8], key: &str) -> Option<ByteRange> {
    let rest = word.of(bytes).strip_prefix(key.as_bytes())?.strip_prefix(b"=")?;
    Some(ByteRange::new(word.end - rest.len(), word.end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_or_told_broken() {
        type Found<'a> = Option<Option<(&'a str, &'a str)>>;
        let cases: &[(&str, Found<'_>)] = &[
            ("**Tool Use:** `read` (`t1`)", Some(Some(("read", "t1")))),
            ("**Tool Use:**`read`(`t1`)  ", Some(Some(("read", "t1")))),
            ("**Tool Use:** `read` (`t 1`)", Some(Some(("read", "t 1")))),
            ("**Tool Use:** read (`t1`)", Some(None)),
            ("**Tool Use:** `` (`t1`)", Some(None)),
            ("**Tool Use:** `read`", Some(None)),
            ("**Tool Use:** `read` (`t1`) more", Some(None)),
            (" **Tool Use:** `read` (`t1`)", None),
        ];
        for (line, expected) in cases {
            let found = tool_use(line.as_bytes()).map(|header| match header {
                Header::Read((name, id)) => {
                    Some((&line[name.start..name.end], &line[id.start..id.end]))
                }
                Header::Broken => None,
            });
            assert_eq!(found, *expected, "{line}");
        }
    }

    #[test]
    fn suffixes_are_words() {
        let cases: &[(&str, Option<&[&str]>)] = &[
            ("**Tool Result:** `t1`", Some(&[])),
            ("**Tool Result:** `t1` (error)", Some(&["error"])),
            ("**Tool Result:** `t1` ( status=pending  x=1 ) ", Some(&["status=pending", "x=1"])),
            ("**Tool Result:** `t1` (error", None),
            ("**Tool Result:** `t1` error", None),
        ];
        for (line, expected) in cases {
            let found = match tool_result(line.as_bytes()) {
                Some(Header::Read((_, words))) => {
                    Some(words.iter().map(|word| &line[word.start..word.end]).collect::<Vec<_>>())
                }
                _ => None,
            };
            assert_eq!(found.as_deref(), *expected, "{line}");
        }
    }

    #[test]
    fn tags_stand_alone_on_their_line() {
        let cases: &[(&str, Option<(&str, bool)>)] = &[
            ("<thinking>", Some(("", false))),
            ("<thinking redacted>  ", Some(("redacted", false))),
            ("<thinking a:signature=\"x\" />", Some(("a:signature=\"x\"", true))),
            ("<thinking> and on", None),
            ("<thinking>a</thinking>", None),
            ("<thinkingly>", None),
        ];
        for (line, expected) in cases {
            let found = thinking(line.as_bytes())
                .map(|tag| (&line[tag.attributes.start..tag.attributes.end], tag.is_self_closing));
            assert_eq!(found, *expected, "{line}");
        }
        let line = "<!-- flemma:aborted: stopped by hand -->";
        let text = aborted(line.as_bytes()).unwrap();
        assert_eq!(&line[text.start..text.end], "stopped by hand");
        assert_eq!(aborted(b"<!-- flemma:aborted: x"), None);
        assert!(aborted(b"<!-- flemma:aborted:-->").unwrap().is_empty());
    }
}
