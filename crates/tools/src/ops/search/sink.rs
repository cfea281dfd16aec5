//! One file's lines that match, with every match in them.
//!
//! Law: a line of any length costs bounded memory; columns count characters, from 1.

use std::io;
use std::ops::Range;

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkMatch};
use jm_files::OpenFile;

use super::ahead::reading_ahead;
use super::request::{Counted, Search};

/// The most bytes of a line that are kept.
const LINE_BYTES: usize = 1_000;
/// A longer file is worth a thread that reads ahead.
const LONG_BYTES: u64 = 16 * 1024 * 1024;
/// The number of bytes before the first match that are kept where a line is cut.
const LEAD_BYTES: usize = 200;

/// One file's matches, with the lines around them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileHits {
    /// As answers name it.
    pub path: String,
    /// Matches and the lines around them, in order.
    pub lines: Vec<FoundLine>,
}

impl FileHits {
    /// The number of matches, not of lines.
    pub fn matches(&self) -> usize {
        self.lines.iter().map(|line| line.hits.len()).sum()
    }
}

/// A line of a file that was searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundLine {
    /// From 1.
    pub number: u64,
    /// Without its terminator.
    pub text: String,
    /// The text is a part of the line.
    pub is_cut: bool,
    /// Nothing in a line that is shown for context.
    pub hits: Vec<Hit>,
}

/// One match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// In characters, from 1.
    pub column: usize,
    /// The text that matched.
    pub text: String,
    /// The text before and behind it, where the line is cut: another hit may be far away.
    pub around: Option<(String, String)>,
}

/// The lines of a file that match, and those around them, until there is more than is asked for.
pub(super) fn search(
    searcher: &mut Searcher,
    matcher: &RegexMatcher,
    file: &OpenFile,
    search: &Search,
) -> io::Result<Vec<FoundLine>> {
    let (lines, most) = (Vec::new(), search.most);
    let most_a_line = match search.counted {
        Counted::Matches => usize::MAX,
        Counted::Lines => 1,
    };
    let mut gathering =
        LineSink { matcher, lines, matches: 0, most, most_a_line, is_binary: false };
    if file.size > LONG_BYTES {
        let searched =
            |reader: &mut dyn io::Read| searcher.search_reader(matcher, reader, &mut gathering);
        reading_ahead(&file.file, searched)?;
    } else {
        searcher.search_file(matcher, &file.file, &mut gathering)?;
    }
    Ok(if gathering.is_binary { Vec::new() } else { gathering.lines })
}

struct LineSink<'a> {
    matcher: &'a RegexMatcher,
    lines: Vec<FoundLine>,
    matches: usize,
    most: usize,
    most_a_line: usize,
    is_binary: bool,
}

impl Sink for LineSink<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        let bytes = content(found.bytes());
        let mut spans = Vec::new();
        let left = (self.most + 1).saturating_sub(self.matches).min(self.most_a_line);
        self.matcher
            .find_iter(bytes, |span| {
                spans.push(span.start()..span.end());
                spans.len() < left
            })
            .map_err(io::Error::other)?;
        self.matches += spans.len();
        let from = spans.first().map_or(0, |span| span.start);
        let part = window(bytes, from);
        let (text, is_cut) = (lossy(&bytes[part.clone()]), part.len() < bytes.len());
        let mut counted = (0, 1);
        let hits = spans
            .into_iter()
            .map(|span| {
                let more = String::from_utf8_lossy(&bytes[counted.0..span.start]).chars().count();
                counted = (span.start, counted.1 + more);
                let text = lossy(
                    &bytes[span.start..boundary(bytes, span.end.min(span.start + LINE_BYTES))],
                );
                let around = is_cut.then(|| around(bytes, &span));
                Hit { column: counted.1, text, around }
            })
            .collect();
        let number = found.line_number().unwrap_or(0);
        self.lines.push(FoundLine { number, text, is_cut, hits });
        Ok(self.matches <= self.most)
    }

    /// Forgets the matches of a binary file: those before its first NUL byte depend on how much was read at
    /// once.
    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        self.is_binary = true;
        Ok(false)
    }

    fn context(&mut self, _: &Searcher, line: &SinkContext<'_>) -> io::Result<bool> {
        let bytes = content(line.bytes());
        let part = window(bytes, 0);
        let (text, is_cut) = (lossy(&bytes[part.clone()]), part.len() < bytes.len());
        let number = line.line_number().unwrap_or(0);
        self.lines.push(FoundLine { number, text, is_cut, hits: Vec::new() });
        Ok(true)
    }
}

/// A line without its terminator.
fn content(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// As much of a line as is kept, with `point` in it.
fn window(line: &[u8], point: usize) -> Range<usize> {
    if line.len() <= LINE_BYTES {
        return 0..line.len();
    }
    let start = if point > LINE_BYTES / 2 { point - LEAD_BYTES } else { 0 };
    let start = boundary(line, start);
    start..boundary(line, line.len().min(start + LINE_BYTES))
}

/// The text that is kept on both sides of a span.
fn around(line: &[u8], span: &Range<usize>) -> (String, String) {
    let part = window(line, span.start);
    (lossy(&line[part.start..span.start]), lossy(&line[span.end.min(part.end)..part.end]))
}

/// The place, or the one before it where it lies inside a character.
fn boundary(line: &[u8], place: usize) -> usize {
    let is_inside = |at: usize| at < line.len() && line[at] & 0xC0 == 0x80;
    // A character has four bytes at the most; what goes on for longer is none.
    (place.saturating_sub(3)..=place).rev().find(|at| !is_inside(*at)).unwrap_or(place)
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
