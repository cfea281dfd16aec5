//! Why one text could not be replaced by another.

use thiserror::Error;

/// The reason why an exact text was not replaced.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "each variant's message says it")]
pub enum ReplaceError {
    #[error("the text to replace is empty")]
    EmptyOld,
    #[error("the old and the new text are the same")]
    Same,
    #[error("the text to replace is not in the file")]
    NotFound,
    /// `lines` are the first lines, from 1, on which a hit starts.
    #[error("the text to replace occurs {count} times, on {}", listed(lines))]
    NotUnique { count: usize, lines: Vec<usize> },
    #[error("the result would have {bytes} bytes; an edit makes at most {MOST_BYTES}")]
    TooLarge { bytes: usize },
}

/// So many bytes an edit may make of a file that has fewer.
pub const MOST_BYTES: usize = 64 * 1024 * 1024;
/// How many line numbers an error lists.
pub const LISTED_LINES: usize = 20;

fn listed(lines: &[usize]) -> String {
    let numbers: Vec<String> = lines.iter().map(usize::to_string).collect();
    let more = if lines.len() == LISTED_LINES { ", …" } else { "" };
    let word = if lines.len() == 1 { "line" } else { "lines" };
    format!("{word} {}{more}", numbers.join(", "))
}
