//! The notes on a changed file, below what was done.

use crate::ops::change::ChangedFile;

/// Appends what could not be kept of the file or is wrong with it now, a line each.
pub fn with_notes(said: String, file: &ChangedFile) -> String {
    let notes = file.notes.iter().map(|note| format!("note: {note}"));
    std::iter::once(said).chain(notes).collect::<Vec<_>>().join("\n")
}
