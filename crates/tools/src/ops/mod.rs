//! The operations: all that any tool can do.
//!
//! Law: a toolset only translates. Every read, change, walk and run of every dialect is one of
//! these, so each rule is written once.

pub(crate) mod binary;
pub mod calc;
pub mod change;
mod charset;
pub mod danger;
pub mod find;
pub mod job;
pub mod listing;
pub mod page;
pub mod posix;
pub mod read;
pub(crate) mod refused;
pub mod report;
pub mod run;
pub mod search;
pub mod tail;
pub mod tasks;
pub mod walk;

use jm_types::text::suggest::suggest;
use jm_types::{ErrorKind, ToolError};
use jm_workspace::{Found, OpenDirectory, SafePath, Sandbox};

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
    let near = suggest(wanted, candidates, 3);
    Some(near.iter().map(|name| parent.join(name).display().to_string()).collect())
}
