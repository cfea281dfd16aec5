//! Read: a file's bytes, as text, as a range of lines, or as base64 (FR-TOOL-READ-01).
//!
//! Law: no read is unbounded, whatever the file is or becomes while it is read.

use jm_files::{OpenFile, SafePath};
use jm_types::ToolError;
use jm_types::text::truncate::leaves_some;
use jm_types::{Digest, Extent, Hashing};

use crate::context::Scope;
use crate::foresight::Foreseen;
use crate::operation::{Execution, Operation};
use crate::ops::binary::{SNIFF, base64_within, is_binary};
use crate::ops::line_range::LineCollector;
use crate::ops::reading::{extent_of, foresee_read, open_existing};
use crate::tool::{PathUse, Use};

/// A read of a whole file or of lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    /// As the call spells it.
    pub path: String,
    /// The lines; `None` for all.
    pub range: Option<LineRange>,
}

/// Lines from 1, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineRange {
    /// From 1.
    pub first: u64,
    /// Included; `None` for the last line of the file.
    pub last: Option<u64>,
}

/// The content in a form that fits into JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadOutcome {
    /// UTF-8.
    Text(String),
    /// Bytes that are no UTF-8.
    Base64 {
        /// The bytes in base 64.
        text: String,
        /// True if there were more bytes.
        truncated: bool,
    },
}

impl Read {
    /// Reads the file within the limits.
    pub fn run(&self, scope: &Scope) -> Result<ReadOutcome, ToolError> {
        let (path, mut file) = open_existing(scope, &self.path)?;
        let head = sniff(&mut file)?;
        match (self.range, is_binary(&head, head.len() as u64 == file.size)) {
            (Some(_), true) => Err(ToolError::bad_args(format!(
                "{} is a binary file; line ranges are for text",
                self.path
            ))),
            (None, true) => base64_of(scope, &path, file, head),
            (_, false) => self.text(scope, &path, file, head),
        }
    }

    /// Reads a file that was opened already and begins as text; `head` is what was read of it.
    pub(crate) fn text(
        &self,
        scope: &Scope,
        path: &SafePath,
        file: OpenFile,
        head: Vec<u8>,
    ) -> Result<ReadOutcome, ToolError> {
        match self.range {
            Some(range) => self.lines(scope, path, file, head, range),
            None => self.whole(scope, path, file, head),
        }
    }

    fn whole(
        &self,
        scope: &Scope,
        path: &SafePath,
        mut file: OpenFile,
        mut bytes: Vec<u8>,
    ) -> Result<ReadOutcome, ToolError> {
        let limit = scope.limits.read_bytes.min(scope.capacity as u64);
        let left = limit.saturating_sub(bytes.len() as u64);
        let (rest, more) = file.read_up_to(left)?;
        if more || bytes.len() as u64 > limit {
            return Err(ToolError::limit(format!(
                "{} has {} bytes; one read returns at most {limit}",
                self.path,
                file.size.max(limit + 1)
            ))
            .hint("read it in parts, with start_line and end_line"));
        }
        bytes.extend(rest);
        let sha256 = Digest::of(&bytes);
        match String::from_utf8(bytes) {
            Ok(text) => {
                let extent = extent_of(text.len() <= scope.output_limit);
                note_seen(scope, path, sha256, extent, &text);
                Ok(ReadOutcome::Text(text))
            }
            // Text at its start, other bytes later: only base64 says exactly what is there.
            Err(not_text) => encode(scope, path, not_text.into_bytes(), Some(sha256), false),
        }
    }

    fn lines(
        &self,
        scope: &Scope,
        path: &SafePath,
        mut file: OpenFile,
        head: Vec<u8>,
        range: LineRange,
    ) -> Result<ReadOutcome, ToolError> {
        // What is shown and what is hashed share one bound on what is read (FR-LIM-05).
        let bound = scope.limits.read_scan_bytes;
        let mut hashing = (file.size <= bound).then(Hashing::default);
        let count = range.last.map(|last| (last + 1).saturating_sub(range.first));
        // A little more than fits, so that the cut is noticed and marked.
        let most = scope.output_limit.saturating_add(4);
        let mut lines = LineCollector::new(range.first, count, most);
        let mut scanned = 0_u64;
        let mut buffer = head;
        while !buffer.is_empty() {
            scope.cancel.checkpoint()?;
            let near = bound.saturating_sub(scanned).min(buffer.len() as u64);
            scanned += buffer.len() as u64;
            lines.feed(&buffer[..usize::try_from(near).unwrap_or(usize::MAX)]);
            if !lines.is_past_range() && near < buffer.len() as u64 {
                return Err(self.scanned_too_far(scope, &lines));
            }
            hashing = hashing.filter(|_| scanned <= bound);
            match &mut hashing {
                Some(hashing) => hashing.update(&buffer),
                None if lines.is_past_range() => break,
                None => {}
            }
            buffer.resize(64 * 1024, 0);
            let count = file.read_some(&mut buffer)?;
            buffer.truncate(count);
        }
        let text = text_of(lines, &self.path)?;
        if let Some(hashing) = hashing {
            note_seen(scope, path, hashing.finish(), Extent::Part, &text);
        }
        Ok(ReadOutcome::Text(text))
    }

    fn scanned_too_far(&self, scope: &Scope, lines: &LineCollector) -> ToolError {
        let hint = if lines.is_in_first_line() {
            "its first line is longer than that; a command such as `cut -b` can take pieces of it"
        } else {
            "narrow the range, or ask for lines nearer to the start"
        };
        ToolError::limit(format!(
            "{}: the lines asked for are not within the first {} bytes",
            self.path, scope.limits.read_scan_bytes
        ))
        .hint(hint)
    }
}

impl Operation for Read {
    type Outcome = ReadOutcome;

    fn paths(&self) -> Vec<PathUse> {
        vec![PathUse::new(&self.path, Use::Read)]
    }

    fn foresee(&self, scope: &Scope) -> Foreseen {
        let shows_all = |bytes: &[u8]| self.range.is_none() && bytes.len() <= scope.output_limit;
        foresee_read(scope, &self.path, shows_all, || self.run(scope))
    }

    fn perform(self, execution: Execution<'_>) -> Result<ReadOutcome, ToolError> {
        self.run(execution.scope)
    }
}

/// Counts the file as read, unless the limit of the output leaves nothing of it to be shown.
fn note_seen(scope: &Scope, path: &SafePath, sha256: Digest, extent: Extent, text: &str) {
    if leaves_some(text.len(), scope.output_limit) {
        scope.seen.record(path, sha256, extent);
    }
}

pub(crate) fn sniff(file: &mut OpenFile) -> Result<Vec<u8>, ToolError> {
    let mut head = vec![0; SNIFF];
    let mut filled = 0;
    while filled < SNIFF {
        match file.read_some(&mut head[filled..])? {
            0 => break,
            count => filled += count,
        }
    }
    head.truncate(filled);
    Ok(head)
}

fn base64_of(
    scope: &Scope,
    path: &SafePath,
    mut file: OpenFile,
    mut bytes: Vec<u8>,
) -> Result<ReadOutcome, ToolError> {
    let limit = scope.limits.read_bytes.min(scope.capacity as u64);
    let (rest, more) = file.read_up_to(limit.saturating_sub(bytes.len() as u64))?;
    bytes.extend(rest);
    let more = more || bytes.len() as u64 > limit;
    bytes.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    let bound = scope.limits.read_scan_bytes;
    let sha256 = if more { hash_whole(path, bound)? } else { Some(Digest::of(&bytes)) };
    encode(scope, path, bytes, sha256, more)
}

/// The digest of a file that was not read whole, if it has no more than `bound` bytes.
fn hash_whole(path: &SafePath, bound: u64) -> Result<Option<Digest>, ToolError> {
    let mut file = OpenFile::open(path)?;
    if file.size > bound {
        return Ok(None);
    }
    let (bytes, more) = file.read_up_to(bound)?;
    Ok((!more).then(|| Digest::of(&bytes)))
}

fn encode(
    scope: &Scope,
    path: &SafePath,
    bytes: Vec<u8>,
    sha256: Option<Digest>,
    more: bool,
) -> Result<ReadOutcome, ToolError> {
    let (text, truncated) = base64_within(&bytes, more, scope.output_limit)
        .ok_or_else(|| ToolError::limit("output budget too small for a binary file"))?;
    if let Some(sha256) = sha256 {
        scope.seen.record(path, sha256, extent_of(!truncated));
    }
    Ok(ReadOutcome::Base64 { text, truncated })
}

/// The text of a range of lines, at the end of a file or of the range.
fn text_of(lines: LineCollector, path: &str) -> Result<String, ToolError> {
    let (first, total) = (lines.first(), lines.total());
    if first > total.max(1) {
        return Err(ToolError::bad_args(format!(
            "start_line {first} is beyond the end of {path}, which has {total} lines"
        )));
    }
    match String::from_utf8(lines.kept) {
        Ok(text) => Ok(text),
        Err(error) if lines.is_cut && error.utf8_error().error_len().is_none() => {
            Ok(String::from_utf8_lossy(error.as_bytes()).into_owned())
        }
        Err(_) => Err(ToolError::bad_args(format!(
            "{path}: these lines hold bytes that are not UTF-8; read the file without a range"
        ))),
    }
}
