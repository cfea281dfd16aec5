//! The checks of a careful change: brackets, read-only files, work that git has no copy of.

use std::path::{Path, PathBuf};

use jm_files::Sandbox;
use jm_files::git_index::{Tracked, tracked_state};
use jm_types::{ErrorKind, ToolError};

use super::parens;
use super::target::Target;

/// Refuses what must not be saved.
pub(super) fn check(target: &Target) -> Result<(), ToolError> {
    if target.is_read_only {
        let (path, message) = (PathBuf::from(target.path.asked()), "is read-only".to_owned());
        return Err(ToolError::new(ErrorKind::PermissionDenied { path, message })
            .hint("make it writable first, if it is meant to be changed"));
    }
    let Some(after) = target.after.as_deref().filter(|_| is_emacs_lisp(target.path.relative()))
    else {
        return Ok(());
    };
    let found = parens::check(&String::from_utf8_lossy(after));
    if found.is_empty() {
        return Ok(());
    }
    let hints: Vec<String> = found.iter().take(3).map(|one| one.suggestion.clone()).collect();
    let file = PathBuf::from(target.path.asked());
    let error = ToolError::new(ErrorKind::Unbalanced { file, found });
    Err(hints.into_iter().fold(error, ToolError::hint).hint("nothing was saved"))
}

pub(super) fn is_emacs_lisp(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "el")
}

/// The warning before somebody's uncommitted work is changed.
pub(super) fn warning(sandbox: &Sandbox, target: &Target) -> Option<String> {
    let before = target.before.as_deref()?;
    match tracked_state(sandbox, &target.path, before)? {
        Tracked::Clean => None,
        Tracked::Changed => Some("had uncommitted changes".to_owned()),
        Tracked::Conflicted => Some("is in the middle of a merge".to_owned()),
    }
}
