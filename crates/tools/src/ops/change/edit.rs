//! One edit of one file: from old bytes to new bytes, in memory.
//!
//! Law: replacement text is never a pattern, and bytes outside the edited span stay as they are.

use std::path::PathBuf;

use jm_files::text::{LineRangeError, ReplaceWhich, Text, append, replace_lines, replace_text};
use jm_types::{ErrorKind, ToolError};

use super::lp1::{PatchError, Section, apply};
use super::mismatch;

/// An edit, and the path of its file as the call names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEdit {
    /// As the call spells it.
    pub path: String,
    /// The change of its content.
    pub edit: Edit,
}

/// The change of one file's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// The whole file.
    Whole {
        /// The new content.
        content: Vec<u8>,
        /// The treatment of a file that is there.
        existing: Existing,
    },
    /// More at the end.
    Append {
        /// The bytes that are added.
        content: Vec<u8>,
    },
    /// Whole lines, from 1, both ends included.
    Lines {
        /// The first line that goes.
        first: usize,
        /// The last line that goes.
        last: usize,
        /// The lines that come.
        new: Vec<u8>,
        /// The lines that must stand there now.
        expected: Option<Vec<u8>>,
    },
    /// Exact text.
    Text {
        /// The text that is looked for.
        old: Vec<u8>,
        /// The text that takes its place.
        new: Vec<u8>,
        /// The occurrences that are replaced.
        which: ReplaceWhich,
    },
    /// The operations of a patch on this file.
    Patch(Section),
}

/// The treatment of a file that exists where a whole one is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// With what to do instead.
    Refuse(&'static str),
    /// The old content goes.
    Replace,
}

/// The result of applying an edit to a file's bytes.
pub(super) struct Applied {
    pub(super) after: Option<Vec<u8>>,
    /// The number of replacements.
    pub(super) replaced: usize,
}

impl From<Option<Vec<u8>>> for Applied {
    fn from(after: Option<Vec<u8>>) -> Self {
        Self { after, replaced: 0 }
    }
}

impl Edit {
    pub(super) fn apply(&self, path: &str, before: Option<Vec<u8>>) -> Result<Applied, ToolError> {
        match (self, before) {
            (Edit::Whole { existing: Existing::Refuse(instead), .. }, Some(_)) => {
                Err(already_exists(path, instead))
            }
            (Edit::Whole { content, .. }, _) => Ok(Some(content.clone()).into()),
            (Edit::Append { content }, before) => {
                Ok(Some(append(&Text::new(before.unwrap_or_default()), content)).into())
            }
            (Edit::Patch(section), before) => apply(section, before.as_deref())
                .map(Applied::from)
                .map_err(|error| patch_failed(path, &error)),
            (Edit::Lines { .. } | Edit::Text { .. }, None) => Err(ToolError::not_found(path)),
            (Edit::Lines { first, last, new, expected }, Some(before)) => {
                let text = Text::new(before);
                check_expected(path, &text, (*first, *last), expected.as_deref())
                    .map_err(|error| mismatch::hint_if_done(error, &text, *first, new))?;
                replace_lines(&text, *first, *last, new)
                    .map(|after| Some(after).into())
                    .map_err(|error| range_error(path, error))
            }
            (Edit::Text { old, new, which }, Some(before)) => {
                let (after, replaced) = replace_text(&before, old, new, *which)
                    .map_err(|why| mismatch::report_mismatch(path, why, &before, old, new))?;
                Ok(Applied { after: Some(after), replaced })
            }
        }
    }

    /// The lines that it names.
    pub(super) fn lines(&self) -> Option<(usize, usize)> {
        match self {
            Edit::Lines { first, last, .. } => Some((*first, *last)),
            Edit::Whole { .. } | Edit::Append { .. } | Edit::Text { .. } | Edit::Patch(_) => None,
        }
    }

    /// The number of bytes of content that the call gives; an edit of a part gives none of its own.
    pub(super) fn given(&self) -> usize {
        match self {
            Edit::Whole { content, .. } | Edit::Append { content } => content.len(),
            Edit::Lines { .. } | Edit::Text { .. } | Edit::Patch(_) => 0,
        }
    }

    pub(super) fn is_whole(&self) -> bool {
        matches!(self, Edit::Whole { .. })
    }
}

pub(super) fn already_exists(path: &str, instead: &str) -> ToolError {
    ToolError::io(path, "file already exists").hint(instead)
}

pub(super) fn patch_failed(path: &str, error: &PatchError) -> ToolError {
    let (file, message) = (PathBuf::from(path), error.to_string());
    let failed = ToolError::new(ErrorKind::PatchFailed { file, message });
    error.hint().into_iter().fold(failed, ToolError::hint)
}

fn check_expected(
    path: &str,
    text: &Text,
    (first, last): (usize, usize),
    expected: Option<&[u8]>,
) -> Result<(), ToolError> {
    let Some(expected) = expected else { return Ok(()) };
    let lines = first.saturating_sub(1)..last.min(text.line_count());
    let found: Vec<&[u8]> = lines.map(|index| text.line(index)).collect();
    let wanted = Text::new(expected.to_vec());
    if found.iter().copied().eq(wanted.contents()) {
        return Ok(());
    }
    let found = found.join(&b'\n');
    let lines = |text: &[u8]| [text.strip_suffix(b"\n").unwrap_or(text), b"\n"].concat();
    let difference = super::diff::unified_diff(path, Some(&lines(expected)), Some(&lines(&found)));
    Err(ToolError::bad_args(format!("lines {first}-{last} of {path} are not what was expected"))
        .hint("below is - what was expected, + what the file has; count and copy from there")
        .with_output(difference))
}

fn range_error(path: &str, error: LineRangeError) -> ToolError {
    let wrong = ToolError::bad_args(format!("{path}: {error}"));
    match error {
        LineRangeError::BeyondEnd { .. } => wrong.hint("read the file again and count from there"),
        LineRangeError::Zero | LineRangeError::Reversed { .. } => wrong,
    }
}
