//! File references in what the person wrote: `@./x`, `@../x`, `@~/x`, `@//x`.
//!
//! Code is not searched, neither fenced nor between backticks, and nothing but words of `@You:` and
//! `@System:` ever is.

use crate::fence::ClosingFences;
use crate::span::{ByteRange, TextLine};

/// A file that a message refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileReference {
    /// The reference with its `@`, within the text that was searched.
    pub span: ByteRange,
    /// The path, URL-decoded: `./x`, `../x`, `~/x` or `/x`.
    pub path: String,
    /// The type behind `;type=`.
    pub media_type: Option<String>,
}

const STARTS: [&[u8]; 4] = [b"@./", b"@../", b"@~/", b"@//"];
const MEDIA_TYPE: &str = ";type=";

/// The references in a text, in order.
pub fn references(text: &str) -> Vec<FileReference> {
    let bytes = text.as_bytes();
    let fences = ClosingFences::of(bytes);
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(line) = TextLine::at(bytes, at) {
        at = line.next;
        if let Some(fence) = fences.fence(bytes, line) {
            at = TextLine::at(bytes, fence.close.start).map_or(bytes.len(), |close| close.next);
        } else if memchr::memchr(b'@', line.range().of(bytes)).is_some() {
            in_line(text, line.range(), &mut found);
        }
    }
    found
}

fn in_line(text: &str, line: ByteRange, found: &mut Vec<FileReference>) {
    let bytes = text.as_bytes();
    let mut at = line.start;
    // Runs of backticks that nothing on the line closes, so that each length is looked for once.
    let mut unclosed = Vec::new();
    while at < line.end {
        match bytes[at] {
            b'`' => at = behind_code(&bytes[..line.end], at, &mut unclosed),
            b'@' if begins(bytes, line.start, at) => {
                let end = word_end(text, at, line.end);
                found.extend(read(text, ByteRange::new(at, end)));
                at = end;
            }
            _ => at += 1,
        }
    }
}

/// The offset behind a code span, or behind its backticks where nothing closes them.
fn behind_code(bytes: &[u8], at: usize, unclosed: &mut Vec<usize>) -> usize {
    let run = |from: usize| bytes[from..].iter().take_while(|byte| **byte == b'`').count();
    let ticks = run(at);
    let mut next = at + ticks;
    if unclosed.contains(&ticks) {
        return next;
    }
    while let Some(more) = memchr::memchr(b'`', &bytes[next..]) {
        let length = run(next + more);
        next += more + length;
        if length == ticks {
            return next;
        }
    }
    unclosed.push(ticks);
    at + ticks
}

/// A reference begins a word: an address such as `me@../x` holds none.
fn begins(bytes: &[u8], line: usize, at: usize) -> bool {
    let is_parted = at == line
        || matches!(bytes[at - 1], b' ' | b'\t' | b'(' | b'[' | b'{' | b'<' | b'"' | b'\'' | b',');
    is_parted && STARTS.iter().any(|start| bytes[at..].starts_with(start))
}

fn word_end(text: &str, at: usize, end: usize) -> usize {
    text[at..end].find(|c: char| c.is_whitespace() || c == '`').map_or(end, |length| at + length)
}

/// Reads the word of a reference, without the punctuation behind it.
fn read(text: &str, word: ByteRange) -> Option<FileReference> {
    let whole = text[word.start..word.end].trim_end_matches(|c: char| {
        matches!(c, '.' | ',' | ';' | ':' | '!' | '?' | ')' | ']' | '}' | '>' | '"' | '\'')
    });
    let (path, media_type) = match whole.split_once(MEDIA_TYPE) {
        Some((path, kind)) => (path, Some(kind.to_owned())),
        None => (whole, None),
    };
    let path = path.strip_prefix('@')?;
    let path = path.strip_prefix("//").map_or(path.to_owned(), |rest| format!("/{rest}"));
    let name = path.trim_start_matches(['.', '/', '~']);
    if name.is_empty() {
        return None;
    }
    let span = ByteRange::new(word.start, word.start + whole.len());
    Some(FileReference { span, path: decode(&path), media_type })
}

/// `%20` is a blank; what is no such code stays, and so does what would not be UTF-8.
fn decode(path: &str) -> String {
    let mut out = Vec::with_capacity(path.len());
    let bytes = path.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let code = bytes.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        let code = code.and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8(out).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_words_of_the_person() {
        type Found<'a> = &'a [(&'a str, Option<&'a str>)];
        let cases: &[(&str, Found<'_>)] = &[
            ("see @./a.c and @../b/c.h.", &[("./a.c", None), ("../b/c.h", None)]),
            ("(@~/notes.md) @//etc/hosts, ok", &[("~/notes.md", None), ("/etc/hosts", None)]),
            ("@./pic%20one.png;type=image/png!", &[("./pic one.png", Some("image/png"))]),
            ("`@./code` and ``a ` @./b`` @./c", &[("./c", None)]),
            ("an open ` tick @./c", &[("./c", None)]),
            ("```\n@./no\n```\n@./yes", &[("./yes", None)]),
            ("me@./x @.x @ ./x @./ @..", &[]),
            ("@./%zz%e9", &[("./%zz%e9", None)]),
            ("ä @./ö.txt", &[("./ö.txt", None)]),
        ];
        for (text, expected) in cases {
            let found = references(text);
            let found: Vec<(&str, Option<&str>)> =
                found.iter().map(|one| (one.path.as_str(), one.media_type.as_deref())).collect();
            assert_eq!(found, *expected, "{text}");
        }
    }
}
