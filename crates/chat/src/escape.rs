//! Words that look like structure: written with a backslash before them, read without it.
//!
//! Law: what is escaped and put into a section reads as one block of words, and unescaped it is what it was.
//! So no text of a model can end its own message or forge a call.

use std::borrow::Cow;

use crate::fence::ClosingFences;
use crate::recognize::is_structure;
use crate::span::{TextLine, leading_blanks};

/// The text with a backslash before every line that would be read as structure. Closed fences stay.
pub(crate) fn escape(text: &str) -> Cow<'_, str> {
    let out = rewrite(text.as_bytes(), |line, out| {
        let is_risky = is_structure(without_backslashes(line));
        out.extend(is_risky.then_some(b'\\'));
        out.extend_from_slice(line);
        is_risky
    });
    // A backslash before an ASCII character keeps UTF-8 what it is.
    out.map_or(Cow::Borrowed(text), |out| Cow::Owned(String::from_utf8_lossy(&out).into_owned()))
}

/// The text with one backslash less before every line that was escaped.
pub(crate) fn unescape(bytes: &[u8]) -> Cow<'_, [u8]> {
    let out = rewrite(bytes, |line, out| {
        let bare = without_backslashes(line);
        let is_escaped = bare.len() < line.len() && is_structure(bare);
        out.extend_from_slice(&line[usize::from(is_escaped)..]);
        is_escaped
    });
    out.map_or(Cow::Borrowed(bytes), Cow::Owned)
}

fn without_backslashes(line: &[u8]) -> &[u8] {
    let count = line.iter().take_while(|byte| **byte == b'\\').count();
    &line[count..]
}

/// Copies a text line by line, each line outside of fences through `write`, which says if it changed one.
/// `None` when none was changed.
fn rewrite(bytes: &[u8], mut write: impl FnMut(&[u8], &mut Vec<u8>) -> bool) -> Option<Vec<u8>> {
    let fences = ClosingFences::of(bytes);
    let mut out = Vec::with_capacity(bytes.len() + 1);
    let (mut at, mut is_changed) = (0, false);
    while let Some(line) = TextLine::at(bytes, at) {
        let next = match fences.fence(bytes, line) {
            Some(fence) => TextLine::at(bytes, fence.close.start).map_or(bytes.len(), |l| l.next),
            None => {
                is_changed |= write(line.range().of(bytes), &mut out);
                out.extend_from_slice(line.ending(bytes));
                at = line.next;
                continue;
            }
        };
        out.extend_from_slice(&bytes[line.start..next]);
        at = next;
    }
    is_changed.then_some(out)
}

/// The words of a block as the model gets them: unescaped, lines ending with `\n`.
pub(crate) fn plain_text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&unescape(bytes)).replace("\r\n", "\n")
}

/// The text without the blank lines at its start and end.
pub(crate) fn trim_blank_lines(text: &str) -> &str {
    let text = text.trim_end();
    let mut start = 0;
    while let Some(line) = TextLine::at(text.as_bytes(), start) {
        if leading_blanks(&text.as_bytes()[line.start..line.end]) < line.end - line.start {
            break;
        }
        start = line.next;
    }
    &text[start..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structure_is_escaped_outside_of_fences_only() {
        let cases = [
            ("plain\nwords @You: here", "plain\nwords @You: here"),
            ("@You: yes\n@Assistant:\n", "\\@You: yes\n\\@Assistant:\n"),
            ("\\@You:\n\\\\@System:", "\\\\@You:\n\\\\\\@System:"),
            ("```\n@You:\n```\n", "```\n@You:\n```\n"),
            ("```\n@You:\n", "\\```\n\\@You:\n"),
            ("````\n```\n**Tool Use:** x", "\\````\n\\```\n\\**Tool Use:** x"),
            ("<thinking>\n</thinking>\r\n", "\\<thinking>\n\\</thinking>\r\n"),
            ("\\other\n\\", "\\other\n\\"),
            ("<!-- flemma:aborted: x -->", "\\<!-- flemma:aborted: x -->"),
        ];
        for (text, expected) in cases {
            assert_eq!(escape(text), expected);
            assert_eq!(unescape(expected.as_bytes()), text.as_bytes());
        }
    }

    #[test]
    fn blank_lines_around_a_text_go() {
        for (text, expected) in [("\n \n  a\n\n", "  a"), ("a", "a"), ("\n\n", ""), ("", "")] {
            assert_eq!(trim_blank_lines(text), expected, "{text:?}");
        }
    }
}
