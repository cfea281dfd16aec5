//! The steps that every read of a file shares: opening it, and foreseeing what it would show.

use jm_files::{OpenFile, SafePath};
use jm_types::ToolError;
use jm_types::{Digest, Extent};

use crate::context::Scope;
use crate::foresight::Foreseen;
use crate::ops::resolve_existing;

/// Opens a file that has to be there.
pub(super) fn open_existing(scope: &Scope, path: &str) -> Result<(SafePath, OpenFile), ToolError> {
    let sandbox = &scope.workspace.sandbox;
    let path = resolve_existing(sandbox, path)?;
    let file = OpenFile::open(&path)?;
    Ok((path, file))
}

/// Records what a read would let the model know: of a content that earlier calls of the batch would leave,
/// whether all of it would be shown, otherwise whatever the read itself records.
pub(super) fn foresee_read<T>(
    scope: &Scope,
    path: &str,
    shows_all: impl FnOnce(&[u8]) -> bool,
    read: impl FnOnce() -> Result<T, ToolError>,
) -> Foreseen {
    let path = scope.workspace.sandbox.resolve(path).ok();
    let expected = path.and_then(|path| Some((scope.expected.get(&path.absolute())?, path)));
    match expected {
        Some((bytes, path)) => {
            scope.seen.record(&path, Digest::of(bytes), extent_of(shows_all(bytes)));
        }
        // A read that fails shows nothing.
        None => drop(read()),
    }
    Foreseen::NOTHING
}

pub(super) fn extent_of(is_whole: bool) -> Extent {
    if is_whole { Extent::Whole } else { Extent::Part }
}
