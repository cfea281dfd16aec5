//! Page: as many lines of a file as fit, from a line on, and how many there are.
//!
//! Law: memory is bounded by what is shown, and bytes are kept as they are. A file of any size can
//! be paged through; one that is very large is not read further only to count its lines.

use jm_types::{Digest, Hashing, ToolError};

use crate::context::Scope;
use crate::foresight::Foreseen;
use crate::operation::{Execution, Operation};
use crate::ops::binary::SNIFF;
use crate::ops::line_range::LineCollector;
use crate::ops::reading::{extent_of, foresee_read, open_existing};
use crate::tool::{PathUse, Use};

/// Up to this size a page counts as a read of the file, and its lines are counted.
const MOST_HASHED: u64 = 64 * 1024 * 1024;
const CHUNK: usize = 64 * 1024;

/// A read of lines that is kept to a number of bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// As the call spells it.
    pub path: String,
    /// The first line, from 1.
    pub first: u64,
    /// The most lines; `None` for all.
    pub count: Option<u64>,
    /// The most bytes; less where the call's output limit is lower.
    pub most_bytes: usize,
    /// A line that the file must have.
    pub must_reach: Option<u64>,
}

/// The lines that were read, and the facts that tell if there are more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageOutcome {
    /// As answers name it.
    pub path: String,
    /// The first line asked for.
    pub first: u64,
    /// Whole lines, but for the last one where `is_cut`.
    pub bytes: Vec<u8>,
    /// The number of lines that were begun.
    pub lines: u64,
    /// The number of lines of the file, if it was read to its end. Otherwise there is more.
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

    /// Reads to the last line that is needed.
    pub fn run(&self, scope: &Scope) -> Result<PageOutcome, ToolError> {
        let (path, mut file) = open_existing(scope, &self.path)?;
        let size = file.size;
        let (page, digest) =
            self.collect(path.asked(), size, scope, |buffer| file.read_some(buffer))?;
        let total = page.total.unwrap_or_default();
        if let Some(digest) = digest.filter(|_| page.lines > 0 || total == 0) {
            let is_all = page.first == 1 && page.lines == total && !page.is_cut;
            scope.seen.record(&path, digest, extent_of(is_all));
        }
        Ok(page)
    }

    /// The page of what `read` gives, of about `expected` bytes, with the hash of all of it where it was read whole.
    pub(super) fn collect(
        &self,
        name: &str,
        expected: u64,
        scope: &Scope,
        mut read: impl FnMut(&mut [u8]) -> Result<usize, ToolError>,
    ) -> Result<(PageOutcome, Option<Digest>), ToolError> {
        let is_hashed = expected <= MOST_HASHED;
        let mut hashing = Hashing::default();
        let (mut size, mut start) = (0, Vec::new());
        let mut lines =
            LineCollector::new(self.first, self.count, self.most_bytes.min(scope.output_limit));
        let mut buffer = vec![0; CHUNK];
        loop {
            scope.cancel.checkpoint()?;
            let count = read(&mut buffer)?;
            if count == 0 {
                break;
            }
            let bytes = &buffer[..count];
            size += count as u64;
            start.extend(bytes.iter().take(SNIFF.saturating_sub(start.len())));
            lines.feed(bytes);
            if is_hashed {
                hashing.update(bytes);
            } else if lines.is_done() && size < expected {
                return Ok((self.outcome(name, lines, start, (expected, None)), None));
            }
        }
        let total = lines.total();
        self.check_reach(total)?;
        let page = self.outcome(name, lines, start, (size, Some(total)));
        Ok((page, is_hashed.then(|| hashing.finish())))
    }

    fn outcome(
        &self,
        path: &str,
        lines: LineCollector,
        start: Vec<u8>,
        (size, total): (u64, Option<u64>),
    ) -> PageOutcome {
        PageOutcome {
            path: path.to_owned(),
            first: lines.first(),
            bytes: lines.kept,
            lines: lines.begun,
            total,
            is_cut: lines.is_cut,
            size,
            start,
            is_range: self.first > 1 || self.count.is_some() || self.must_reach.is_some(),
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
        let most = self.most_bytes.min(scope.output_limit);
        let shows_all =
            |bytes: &[u8]| self.first <= 1 && self.count.is_none() && bytes.len() <= most;
        foresee_read(scope, &self.path, shows_all, || self.run(scope))
    }

    fn perform(self, execution: Execution<'_>) -> Result<PageOutcome, ToolError> {
        self.run(execution.scope)
    }
}
