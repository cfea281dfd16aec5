//! The encoding check: new text has to be expressible in the encoding of its file.
//!
//! Law: a file never ends up in two encodings. Text that its encoding cannot express is refused, never
//! replaced by something else.

use jm_files::text::{foreign_byte, is_utf16};
use jm_types::ToolError;

use super::edit::Edit;

/// A file in some other encoding takes ASCII only: we do not know how it writes the rest.
pub(super) fn check(path: &str, before: &[u8], edit: &Edit) -> Result<(), ToolError> {
    let Some(new) = part(edit) else { return Ok(()) };
    if is_utf16(before) {
        return Err(ToolError::io(path, "is UTF-16 or UTF-32, which is not edited in parts"));
    }
    match foreign_byte(before) {
        Some(offset) if !new.is_ascii() => Err(ToolError::bad_args(format!(
            "{path} is not UTF-8 (first at byte {offset}) and the new text is not ASCII"
        ))
        .hint("keep the new text to ASCII")),
        Some(_) | None => Ok(()),
    }
}

/// The bytes that an edit puts beside those that stay. A patch has the same rule, in its own words.
fn part(edit: &Edit) -> Option<&[u8]> {
    match edit {
        Edit::Append { content } => Some(content),
        Edit::Lines { new, .. } | Edit::Text { new, .. } => Some(new),
        Edit::Whole { .. } | Edit::Patch(_) => None,
    }
}
