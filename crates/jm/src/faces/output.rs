//! `jm output`: all that a call said, whole or in part.
//!
//! Law: for a program the bytes are exactly those that were printed; what is not kept is said, not
//! left out silently.

use anyhow::{Context, Result, bail};
use jm_store::{OutputStream, Store, StoredResult, StoredStream};

use super::{exit, print};
use crate::cli::{OutputArgs, Span};
use crate::sessions;

pub(crate) fn run(output: &OutputArgs) -> Result<u8> {
    let store = sessions::store()?;
    let result = store.result(&output.call).map_err(sessions::told)?;
    let result =
        result.with_context(|| format!("No result for call {} (ids: `jm log`)", output.call))?;
    match &result.output {
        None => in_result(&store, output, &result),
        Some(kept) => {
            let wanted =
                |stream: &&StoredStream| (stream.stream == OutputStream::Stderr) == output.stderr;
            // A stream on which nothing came has nothing to show.
            let Some(stream) = kept.streams.iter().find(wanted) else { return Ok(exit::RAN) };
            show(&store, output, stream)
        }
    }
}

/// Nothing was cut, so the result is all there is.
fn in_result(store: &Store, output: &OutputArgs, result: &StoredResult) -> Result<u8> {
    if output.stderr {
        bail!(
            "{0} has no separate stderr\n  hint: print its full output with `jm output {0}`",
            output.call
        );
    }
    let content = store.content(result).map_err(sessions::told)?;
    let bytes = content.as_bytes();
    let (start, end) = bytes_of(output.range, bytes.len() as u64);
    let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
    Lines::of(output.lines).take(&bytes[place(start)..place(end)])?;
    Ok(exit::RAN)
}

/// All that is kept of a call's output, as text.
pub(crate) fn whole(store: &Store, result: &StoredResult) -> Result<String> {
    let Some(kept) = &result.output else {
        return store.content(result).map_err(sessions::told);
    };
    let mut bytes = Vec::new();
    for stream in &kept.streams {
        let take = |piece: &[u8]| -> Result<()> {
            bytes.extend_from_slice(piece);
            Ok(())
        };
        let missing = store.read_output(stream, 0, stream.total, take)?;
        for (from, to) in missing {
            bytes.extend_from_slice(format!("\n[bytes {from} to {to} were not kept]\n").as_bytes());
        }
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn show(store: &Store, output: &OutputArgs, stream: &StoredStream) -> Result<u8> {
    let (start, mut end) = bytes_of(output.range, stream.total);
    if output.lines.is_some() {
        // Behind a gap nobody knows which line it is.
        end = end.min(stream.parts.first().map_or(0, |first| first.size));
    }
    let mut lines = Lines::of(output.lines);
    let mut missing = store.read_output(stream, start, end, |piece| lines.take(piece))?;
    if output.lines.is_some() && end < stream.total && !lines.is_past() {
        missing.push((end, stream.total - stream.parts.last().map_or(0, |last| last.size)));
    }
    for (from, to) in &missing {
        print::note(&format!("jm: bytes {from} to {to} of {} were not kept", stream.total));
    }
    if !missing.is_empty() && output.lines.is_some() {
        print::note("  hint: lines after that cannot be counted; use --range");
    }
    Ok(if missing.is_empty() { exit::RAN } else { exit::FAILED })
}

/// The span within `total` bytes.
fn bytes_of(span: Option<Span>, total: u64) -> (u64, u64) {
    let first = span.and_then(|span| span.first).unwrap_or(0).min(total);
    let last = span.and_then(|span| span.last).unwrap_or(total).clamp(first, total);
    (first, last)
}

/// Lets the wanted lines through.
struct Lines {
    first: u64,
    last: u64,
    /// The line that the next byte belongs to.
    current: u64,
}

impl Lines {
    fn of(span: Option<Span>) -> Self {
        let first = span.and_then(|span| span.first).unwrap_or(1);
        let last = span.and_then(|span| span.last).unwrap_or(u64::MAX);
        Self { first, last, current: 1 }
    }

    fn is_past(&self) -> bool {
        self.current > self.last
    }

    fn take(&mut self, piece: &[u8]) -> Result<()> {
        let mut wanted = Vec::new();
        for line in piece.split_inclusive(|byte| *byte == b'\n') {
            if (self.first..=self.last).contains(&self.current) {
                wanted.extend_from_slice(line);
            }
            self.current += u64::from(line.ends_with(b"\n"));
        }
        print::bytes(&wanted)
    }
}
