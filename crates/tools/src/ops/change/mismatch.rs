//! The mismatch report: a text that is not where an edit expects it, what stands there instead, and what to
//! do next.

use std::path::PathBuf;

use jm_files::text::Text;
use jm_types::{ErrorKind, ReplaceError, ToolError};

use super::lp1::{DiffersIn, nearest};

pub(super) fn report_mismatch(
    path: &str,
    why: ReplaceError,
    before: &[u8],
    old: &[u8],
    new: &[u8],
) -> ToolError {
    let (file, why) = (PathBuf::from(path), Box::new(why));
    let error = ToolError::new(ErrorKind::EditFailed { file, why: why.clone() });
    match *why {
        ReplaceError::NotFound => near_miss(error, before, old, new),
        ReplaceError::NotUnique { .. } => {
            error.hint("give more of the text around it, so that it occurs once")
        }
        ReplaceError::TooLarge { .. } => {
            error.hint("replace fewer places at one time, or write the file with a command")
        }
        ReplaceError::EmptyOld | ReplaceError::Same => error,
    }
}

fn near_miss(error: ToolError, before: &[u8], old: &[u8], new: &[u8]) -> ToolError {
    let text = Text::new(before.to_vec());
    if !new.is_empty()
        && let Some(at) = memchr::memmem::find(before, new)
    {
        let line = text.line_number(at);
        return error.hint(format!(
            "the new text is there already, on line {line}: perhaps this edit was made before"
        ));
    }
    let lines: Vec<&[u8]> = text.contents().collect();
    let old = String::from_utf8_lossy(old);
    let wanted: Vec<String> = old.lines().map(str::to_owned).collect();
    let Some(near) = nearest(&lines, &wanted) else {
        return error
            .hint("nothing in the file is like it; read the file and copy the text from there");
    };
    let (place, differ, them) = if near.first == near.last {
        (format!("line {}", near.first), "differs", "it")
    } else {
        (format!("lines {} to {}", near.first, near.last), "differ", "them")
    };
    let hint = match near.differs_in {
        DiffersIn::WhiteSpace => format!(
            "{place} {differ} only in white space; copy {them} exactly (· is a space, → a tab)"
        ),
        DiffersIn::Text => format!("the nearest text is {place}; read it and copy it exactly"),
    };
    let rows = near.rows().join("\n");
    error.hint(hint).with_output(format!("- what was asked for, + the file:\n{rows}"))
}

/// Adds a hint where lines are not what was expected because the edit was made before.
pub(super) fn hint_if_done(error: ToolError, text: &Text, first: usize, new: &[u8]) -> ToolError {
    let wanted = Text::new(new.to_vec());
    let there = text.contents().skip(first.saturating_sub(1)).take(wanted.line_count());
    if wanted.line_count() == 0 || !there.eq(wanted.contents()) {
        return error;
    }
    error.hint(format!(
        "the new lines are there already, from line {first}: perhaps this edit was made before"
    ))
}
