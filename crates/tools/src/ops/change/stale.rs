//! The refusal of an edit to a file that was not read, or that changed since: with the lines that
//! the edit is about, as they are now, so that the next attempt can succeed.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use jm_files::SafePath;
use jm_files::text::Text;
use jm_types::{ErrorKind, ToolError};

use super::edit::Edit;
use super::lp1::target_lines;

const AROUND: usize = 3;
const MOST_LINES: usize = 60;
const MOST_LINE_BYTES: usize = 400;

pub(super) fn refusal<'a>(
    path: &SafePath,
    reason: &str,
    bytes: &[u8],
    edits: impl Iterator<Item = &'a Edit>,
) -> ToolError {
    let file = PathBuf::from(path.asked());
    let places: Vec<_> = edits.flat_map(|edit| places(edit, bytes)).collect();
    ToolError::new(ErrorKind::StaleFile { file, reason: reason.to_owned() })
        .hint("check the lines below, or read the file, then send the change again")
        .with_output(fresh_lines(path.asked(), &Text::new(bytes.to_vec()), &places))
}

fn places(edit: &Edit, bytes: &[u8]) -> Vec<RangeInclusive<usize>> {
    match edit {
        Edit::Patch(section) => target_lines(section, bytes),
        Edit::Lines { first, last, .. } => vec![*first..=*last],
        Edit::Whole { .. } | Edit::Append { .. } | Edit::Text { .. } => vec![1..=1],
    }
}

fn fresh_lines(path: &str, text: &Text, places: &[RangeInclusive<usize>]) -> String {
    let mut wanted: Vec<usize> = places.iter().flat_map(around).collect();
    wanted.sort_unstable();
    wanted.dedup();
    wanted.retain(|number| (1..=text.line_count()).contains(number));
    wanted.truncate(MOST_LINES);
    if wanted.is_empty() {
        return format!("{path} has {} lines", text.line_count());
    }
    let mut out = format!("{path} now:\n");
    let mut last = 0;
    for number in wanted {
        if last != 0 && number != last + 1 {
            out.push_str("...\n");
        }
        let line = text.line(number - 1);
        let shown = String::from_utf8_lossy(&line[..line.len().min(MOST_LINE_BYTES)]);
        out.push_str(&format!("{number}\t{shown}\n"));
        last = number;
    }
    out
}

fn around(place: &RangeInclusive<usize>) -> impl Iterator<Item = usize> + use<> {
    let first = place.start().saturating_sub(AROUND).max(1);
    let last = place.end().saturating_add(AROUND).min(first + MOST_LINES);
    first..=last
}
