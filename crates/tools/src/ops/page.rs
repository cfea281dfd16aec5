//! Page: as many lines of a file as fit, from a line on, and how many there are.
//!
//! Law: memory is bounded by what is shown, and bytes are kept as they are. A file of any size can
//! be paged through; one that is very large is not read further only to count its lines.

use jm_types::ToolError;
use jm_workspace::{Digest, Extent, Found, Hashing, OpenFile};

use crate::context::Scope;
use crate::foresight::Foreseen;
use crate::operation::{Execution, Operation};
use crate::ops::binary::SNIFF;
use crate::ops::not_found;
use crate::tool::{PathUse, Use};

/// Up to this size a page counts as a read of the file, and its lines are counted.
const MOST_HASHED: u64 = 64 * 1024 * 1024;
const CHUNK: usize = 64 * 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    pub path: String,
    /// The first line, from 1.
    pub first: u64,
    /// The most lines, where somebody asked for some.
    pub count: Option<u64>,
    /// The most bytes; less where the call's output limit is lower.
    pub most_bytes: usize,
    /// A line that the file must have.
    pub must_reach: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageOutcome {
    pub path: String,
    /// The first line asked for.
    pub first: u64,
    /// Whole lines, but for the last one where `is_cut`.
    pub bytes: Vec<u8>,
    /// How many lines were begun.
    pub lines: u64,
    /// How many the file has, if it was read to its end. Otherwise there is more.
    pub total: Option<u64>,
    /// Lines that were asked for do not fit.
    pub is_cut: bool,
    /// Bytes of the file.
    pub size: u64,
    /// Its first bytes, by which its kind is judged.
    pub start: Vec<u8>,
    /// Some lines were asked for, not all.
    pub is_range: bool,
}

impl Page {
    /// As much of a file as fits.
    pub fn whole(path: impl Into<String>) -> Self {
        Self { path: path.into(), first: 1, count: None, most_bytes: usize::MAX, must_reach: None }
    }

    pub fn run(&self, scope: &Scope) -> Result<PageOutcome, ToolError> {
        let sandbox = &scope.workspace.sandbox;
        let path = sandbox.resolve(&self.path)?;
        if let Found::Missing { .. } = path.found() {
            return Err(not_found(sandbox, &path));
        }
        let mut file = OpenFile::open(&path)?;
        let hashes = file.size <= MOST_HASHED;
        let mut hashing = Hashing::default();
        let mut taking = Taking::new(self, path.asked(), scope.output_limit);
        let mut buffer = vec![0; CHUNK];
        loop {
            scope.cancel.checkpoint()?;
            let count = file.read_some(&mut buffer)?;
            if count == 0 {
                break;
            }
            if hashes {
                hashing.update(&buffer[..count]);
            }
            taking.feed(&buffer[..count]);
            if !hashes && taking.is_done() && taking.page.size < file.size {
                return Ok(taking.leave(file.size));
            }
        }
        let (page, total) = taking.finish();
        self.check_reach(total)?;
        let shows_some = page.lines > 0 || total == 0;
        if hashes && shows_some {
            let is_all = page.first == 1 && page.lines == total && !page.is_cut;
            let extent = if is_all { Extent::Whole } else { Extent::Part };
            let sha256: Digest = hashing.finish();
            scope.seen.record(&path, sha256, extent);
        }
        Ok(page)
    }
}

impl Page {
    /// Notes what the read would let the model know.
    fn note_foreseen(&self, scope: &Scope) {
        let path = scope.workspace.sandbox.resolve(&self.path).ok();
        let found = path.and_then(|path| Some((scope.expected.get(&path.absolute())?, path)));
        match found {
            Some((bytes, path)) => {
                let most = self.most_bytes.min(scope.output_limit);
                let is_all = self.first <= 1 && self.count.is_none() && bytes.len() <= most;
                let extent = if is_all { Extent::Whole } else { Extent::Part };
                scope.seen.record(&path, Digest::of(bytes), extent);
            }
            // A read that fails shows nothing.
            None => self.run(scope).map(drop).unwrap_or_default(),
        }
    }

    fn check_reach(&self, total: u64) -> Result<(), ToolError> {
        match self.must_reach {
            Some(line) if line > total.max(1) => Err(ToolError::bad_args(format!(
                "start_line {line} is beyond the end of {}, which has {total} lines",
                self.path
            ))),
            Some(_) | None => Ok(()),
        }
    }
}

impl Operation for Page {
    type Outcome = PageOutcome;

    fn paths(&self) -> Vec<PathUse> {
        vec![PathUse::new(&self.path, Use::Read)]
    }

    fn foresee(&self, scope: &Scope) -> Foreseen {
        self.note_foreseen(scope);
        Foreseen::NOTHING
    }

    fn perform(self, execution: Execution<'_>) -> Result<PageOutcome, ToolError> {
        self.run(execution.scope)
    }
}

/// Collects the page from a stream of bytes.
struct Taking {
    page: PageOutcome,
    /// The line that the next byte belongs to.
    line: u64,
    /// The line after the last one wanted.
    end: u64,
    most: usize,
    at_line_start: bool,
}

impl Taking {
    fn new(asked: &Page, path: &str, output_limit: usize) -> Self {
        let first = asked.first.max(1);
        let page = PageOutcome {
            path: path.to_owned(),
            first,
            bytes: Vec::new(),
            lines: 0,
            total: None,
            is_cut: false,
            size: 0,
            start: Vec::new(),
            is_range: asked.first > 1 || asked.count.is_some() || asked.must_reach.is_some(),
        };
        let end = asked.count.map_or(u64::MAX, |count| first.saturating_add(count));
        let most = asked.most_bytes.min(output_limit);
        Self { page, line: 1, end, most, at_line_start: true }
    }

    /// Nothing more will be shown.
    fn is_done(&self) -> bool {
        self.line >= self.end || self.page.is_cut
    }

    fn feed(&mut self, bytes: &[u8]) {
        self.page.size += bytes.len() as u64;
        let missing = SNIFF.saturating_sub(self.page.start.len()).min(bytes.len());
        self.page.start.extend_from_slice(&bytes[..missing]);
        let mut rest = bytes;
        while !rest.is_empty() {
            if self.is_done() {
                return self.count(rest);
            }
            let stop = memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
            let (piece, after) = rest.split_at(stop);
            if self.line >= self.page.first {
                self.take(piece);
            }
            self.at_line_start = piece.ends_with(b"\n");
            self.line += u64::from(self.at_line_start);
            rest = after;
        }
    }

    fn take(&mut self, piece: &[u8]) {
        let room = self.most - self.page.bytes.len();
        self.page.is_cut = piece.len() > room;
        self.page.lines += u64::from(self.at_line_start && room > 0);
        self.page.bytes.extend_from_slice(&piece[..piece.len().min(room)]);
    }

    /// Only the number of lines matters.
    fn count(&mut self, rest: &[u8]) {
        self.line += memchr::memchr_iter(b'\n', rest).count() as u64;
        self.at_line_start = rest.ends_with(b"\n");
    }

    /// At the end of the file: the page, and how many lines there are.
    fn finish(mut self) -> (PageOutcome, u64) {
        let total = self.line - u64::from(self.at_line_start);
        self.page.total = Some(total);
        (self.page, total)
    }

    /// Before the end of a file of this size.
    fn leave(mut self, size: u64) -> PageOutcome {
        self.page.size = size;
        self.page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &[u8], chunk: usize, asked: (u64, Option<u64>, usize)) -> PageOutcome {
        let (first, count, most_bytes) = asked;
        let page = Page { first, count, most_bytes, ..Page::whole("f") };
        let mut taking = Taking::new(&page, "f", 1000);
        text.chunks(chunk).for_each(|piece| taking.feed(piece));
        taking.finish().0
    }

    /// Text, what was asked, the bytes, lines begun, lines in all, cut.
    type Case = (&'static str, (u64, Option<u64>, usize), &'static str, u64, u64, bool);

    #[test]
    fn pages_are_the_same_in_any_chunks() {
        let cases: &[Case] = &[
            ("", (1, None, 99), "", 0, 0, false),
            ("a\nb\nc\n", (1, None, 99), "a\nb\nc\n", 3, 3, false),
            ("a\nb\nc", (2, None, 99), "b\nc", 2, 3, false),
            ("a\nb\nc", (2, Some(1), 99), "b\n", 1, 3, false),
            ("a\nb\nc", (2, Some(0), 99), "", 0, 3, false),
            ("a\nb\nc", (4, None, 99), "", 0, 3, false),
            ("a\nb\nc\n", (4, Some(2), 99), "", 0, 3, false),
            ("aaa\nbbb\nccc\n", (1, None, 5), "aaa\nb", 2, 3, true),
            ("aaa\nbbb\nccc\n", (1, None, 4), "aaa\n", 1, 3, true),
            ("aaa\nbbb\nccc\n", (1, Some(1), 4), "aaa\n", 1, 3, false),
            ("\r\n\r\nx", (2, Some(1), 99), "\r\n", 1, 3, false),
        ];
        for (text, asked, bytes, lines, total, is_cut) in cases {
            for chunk in 1..=text.len().max(1) {
                let found = page(text.as_bytes(), chunk, *asked);
                let found = (&found.bytes[..], found.lines, found.total, found.is_cut);
                assert_eq!(
                    found,
                    (bytes.as_bytes(), *lines, Some(*total), *is_cut),
                    "{text:?} {asked:?}"
                );
            }
        }
    }
}
