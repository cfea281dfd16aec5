//! The operations: all that any tool can do.
//!
//! Law: a toolset only translates. Every read, change, walk and run of every dialect is one of
//! these, so each rule is written once.

pub(crate) mod binary;
pub mod change;
mod charset;
pub mod command_output;
pub(crate) mod command_preview;
mod file_kind;
pub mod find;
mod gather;
pub mod job;
mod line_range;
pub mod listing;
pub mod output_page;
pub mod page;
pub mod read;
pub mod read_any;
mod reading;
pub(crate) mod refused;
pub mod report;
pub mod run;
pub mod search;
pub mod tail;
pub mod tasks;
pub mod walk;

use jm_files::{Found, OpenDirectory, SafePath, Sandbox};
use jm_types::text::suggest::suggest;
use jm_types::{ErrorKind, ToolError};

/// Resolves a path that has to be there.
pub(crate) fn resolve_existing(sandbox: &Sandbox, path: &str) -> Result<SafePath, ToolError> {
    let path = sandbox.resolve(path)?;
    if path.is_missing() { Err(not_found(sandbox, &path)) } else { Ok(path) }
}

/// "No such file", with up to three names from the same directory that come near.
pub(crate) fn not_found(sandbox: &Sandbox, path: &SafePath) -> ToolError {
    let near = neighbours(sandbox, path).unwrap_or_default();
    let names: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
    let error = ToolError::new(ErrorKind::NotFound { path: path.asked().into(), near });
    match names.as_slice() {
        [] => error,
        names => error.hint(format!("did you mean {}?", names.join(" or "))),
    }
}

fn neighbours(sandbox: &Sandbox, path: &SafePath) -> Option<Vec<String>> {
    let Found::Missing { existing } = path.found() else { return None };
    let components: Vec<_> = path.relative().iter().collect();
    let wanted = components.get(existing)?.to_str()?;
    let parent: std::path::PathBuf = components[..existing].iter().collect();
    let shown = if existing == 0 { ".".to_owned() } else { parent.to_str()?.to_owned() };
    let directory = OpenDirectory::open(&sandbox.resolve(&shown).ok()?).ok()?;
    let names = directory.names().ok()?;
    let candidates = names.iter().filter_map(|name| name.to_str());
    let rest: std::path::PathBuf = components[existing + 1..].iter().collect();
    let near = suggest(wanted, candidates, names.len()).into_iter().filter_map(|name| {
        let near = parent.join(name);
        // What the wanted path names below a near directory, where that is there.
        let (near, whole) = (near.to_str()?.to_owned(), near.join(&rest));
        let is_there = |path: &str| sandbox.resolve(path).is_ok_and(|path| !path.is_missing());
        match whole.to_str().filter(|whole| !rest.as_os_str().is_empty() && is_there(whole)) {
            Some(whole) => Some(whole.to_owned()),
            // A name that may not be used is no suggestion.
            None => is_there(&near).then_some(near),
        }
    });
    Some(near.take(3).collect())
}
