//! The parser's side of tool blocks: a header, blank lines, one fence.

use serde::de::IgnoredAny;

use super::{Parser, ToolUseBlock};
use crate::block::{BlockKind, ResultState, ToolResultBlock};
use crate::diagnostic;
use crate::fence::{self, CodeFence};
use crate::recognize::{value_of, words};
use crate::span::{ByteRange, TextLine, is_blank};
use crate::status::{PlaceholderForm, ToolStatus};

/// The first word of a placeholder's info string.
pub(crate) const PLACEHOLDER: &[u8] = b"flemma:tool";

/// The block behind a header.
enum Behind {
    Fence(CodeFence),
    /// A fence that nothing closes, on this line.
    Unclosed(TextLine),
    Other,
}

impl Parser<'_> {
    pub(super) fn tool_use(&mut self, line: TextLine, header: (ByteRange, ByteRange)) {
        let number = self.line_number;
        let input = match self.behind_header(line) {
            Behind::Fence(fence) => fence,
            Behind::Unclosed(open) => return self.malformed(line, open, diagnostic::USE_UNCLOSED),
            Behind::Other => return self.malformed(line, line, diagnostic::USE_NEEDS_FENCE),
        };
        let span = ByteRange::new(line.start, input.close.end);
        let block =
            ToolUseBlock { name: within(line, header.0), id: within(line, header.1), input };
        let kind = match unreadable(self.bytes, &input) {
            None => BlockKind::ToolUse(block),
            Some(why) => {
                let message = format!("{}: {why}", diagnostic::USE_UNREADABLE);
                self.warn(line, &message);
                BlockKind::Malformed
            }
        };
        self.block(span, number, kind);
        self.move_behind(&input);
    }

    pub(super) fn tool_result(&mut self, line: TextLine, header: (ByteRange, Vec<ByteRange>)) {
        let number = self.line_number;
        let fence = match self.behind_header(line) {
            Behind::Fence(fence) => fence,
            Behind::Unclosed(open) => {
                return self.malformed(line, open, diagnostic::RESULT_UNCLOSED);
            }
            Behind::Other => return self.malformed(line, line, diagnostic::RESULT_NEEDS_FENCE),
        };
        let suffix: Vec<ByteRange> = header.1.into_iter().map(|word| within(line, word)).collect();
        let (state, finding) = result_state(self.bytes, &suffix, &fence);
        if let Some(message) = finding {
            self.warn(line, &message);
        }
        let span = ByteRange::new(line.start, fence.close.end);
        let block = ToolResultBlock { id: within(line, header.0), suffix, fence, state };
        self.block(span, number, BlockKind::ToolResult(block));
        self.move_behind(&fence);
    }

    fn behind_header(&self, header: TextLine) -> Behind {
        let mut at = header.next;
        while let Some(line) = TextLine::at(self.bytes, at) {
            let text = line.range().of(self.bytes);
            if is_blank(text) {
                at = line.next;
                continue;
            }
            return match self.fences.fence(self.bytes, line) {
                Some(fence) => Behind::Fence(fence),
                None if fence::opening(text).is_some() => Behind::Unclosed(line),
                None => Behind::Other,
            };
        }
        Behind::Other
    }

    /// A header that cannot be used, with the lines up to `last`.
    fn malformed(&mut self, header: TextLine, last: TextLine, message: &str) {
        self.warn(header, message);
        let span = ByteRange::new(header.start, last.end);
        self.block(span, self.line_number, BlockKind::Malformed);
        self.move_to(last.next);
    }
}

fn within(line: TextLine, range: ByteRange) -> ByteRange {
    ByteRange::new(line.start + range.start, line.start + range.end)
}

/// Why the input of a call is not what its language says. Without a language it is JSON.
fn unreadable(bytes: &[u8], input: &CodeFence) -> Option<String> {
    let language = words(input.info, bytes).first().map(|word| word.text_of(bytes));
    if let Some(language) = language.filter(|language| language != "json") {
        return Some(format!("`{language}` is not supported; use json"));
    }
    let text = match std::str::from_utf8(input.content(bytes).of(bytes)) {
        Ok(text) => text,
        Err(error) => return Some(error.to_string()),
    };
    serde_json::from_str::<IgnoredAny>(text).err().map(|error| error.to_string())
}

/// The state of a result block, and what is wrong with the way it is written.
fn result_state(
    bytes: &[u8],
    suffix: &[ByteRange],
    fence: &CodeFence,
) -> (ResultState, Option<String>) {
    let in_header = header_status(bytes, suffix);
    let info = words(fence.info, bytes);
    let is_placeholder = info.first().is_some_and(|word| word.of(bytes) == PLACEHOLDER);
    if !is_placeholder {
        return match in_header {
            Some(HeaderStatus::Failed) => (ResultState::Failed, None),
            Some(HeaderStatus::Waiting(status, word)) => {
                (placeholder(status, word, PlaceholderForm::Header), None)
            }
            None => (ResultState::Given, None),
        };
    }
    let value = info.iter().find_map(|word| value_of(*word, bytes, "status"));
    let word = value.unwrap_or(ByteRange::at(fence.info.end));
    let (status, finding) = match value.map(|value| (ToolStatus::read(value.of(bytes)), value)) {
        Some((Some(status), _)) => (status, None),
        Some((None, value)) => {
            (ToolStatus::Pending, Some(diagnostic::unknown_status(&value.text_of(bytes))))
        }
        None => (ToolStatus::Pending, None),
    };
    match in_header {
        Some(HeaderStatus::Waiting(other, _)) if other != status => {
            let state = placeholder(ToolStatus::Pending, word, PlaceholderForm::Fence);
            (state, Some(diagnostic::TWO_STATUSES.to_owned()))
        }
        _ => (placeholder(status, word, PlaceholderForm::Fence), finding),
    }
}

fn placeholder(status: ToolStatus, word: ByteRange, form: PlaceholderForm) -> ResultState {
    ResultState::Placeholder { status, word, form }
}

enum HeaderStatus {
    Failed,
    Waiting(ToolStatus, ByteRange),
}

/// The status among the words behind an id; `status=` beats a bare word.
fn header_status(bytes: &[u8], suffix: &[ByteRange]) -> Option<HeaderStatus> {
    let read = |word: ByteRange| match word.of(bytes) {
        b"error" => Some(HeaderStatus::Failed),
        other => ToolStatus::read(other).map(|status| HeaderStatus::Waiting(status, word)),
    };
    let explicit = suffix.iter().filter_map(|word| value_of(*word, bytes, "status"));
    explicit.filter_map(read).next().or_else(|| suffix.iter().copied().find_map(read))
}
