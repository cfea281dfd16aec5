//! Files that the journal or a preview names, looked at through the sandbox.
//!
//! Law: no link is followed, and a content is hashed as a stream. A file whose size is not the recorded one is
//! not read at all.

use std::path::Path;

use jm_types::Digest;
use jm_workspace::{Found, OpenFile, SafePath, Sandbox};

/// Resolves a path of the journal, through the sandbox like any other; an error says why it is left alone.
pub(crate) fn resolve(sandbox: &Sandbox, path: &Path) -> Result<SafePath, String> {
    if belongs_to_git(path) {
        return Err("it belongs to git".to_owned());
    }
    let root = sandbox.working_root().path();
    let relative = path.strip_prefix(root).map_err(|_| "it is not in this workspace".to_owned())?;
    let text = relative.to_str().ok_or("its name is not UTF-8")?;
    let safe = sandbox.resolve(if text.is_empty() { "." } else { text });
    let safe = safe.map_err(|error| error.to_string())?;
    if safe.absolute() == path {
        Ok(safe)
    } else {
        Err("a symbolic link stands there now".to_owned())
    }
}

pub(crate) fn belongs_to_git(path: &Path) -> bool {
    path.iter().any(|name| name == ".git")
}

/// Hashes the file at a path; `None` where there is none.
pub(crate) fn digest_at(sandbox: &Sandbox, path: &Path) -> Result<Option<Digest>, String> {
    current_digest(&resolve(sandbox, path)?)
}

/// Hashes a file without its content in memory; `None` where there is no file.
pub(crate) fn current_digest(path: &SafePath) -> Result<Option<Digest>, String> {
    if path.is_missing() {
        return Ok(None);
    }
    let digest = open(path)?.digest();
    digest.map(Some).map_err(|error| error.to_string())
}

/// Reads a whole file, for what is about to be replaced; `None` where there is no file.
pub(crate) fn current(path: &SafePath) -> Result<Option<Vec<u8>>, String> {
    if path.is_missing() {
        return Ok(None);
    }
    let read = open(path)?.read_up_to(u64::MAX / 2);
    read.map(|(bytes, _)| Some(bytes)).map_err(|error| error.to_string())
}

fn open(path: &SafePath) -> Result<OpenFile, String> {
    match path.found() {
        Found::Directory => Err("it is a directory now".to_owned()),
        Found::Missing { .. } | Found::File | Found::Special(_) => {
            OpenFile::open(path).map_err(|error| error.to_string())
        }
    }
}

/// The permission bits of a file.
pub(crate) fn mode_of(path: &SafePath) -> Option<u32> {
    OpenFile::open(path).ok()?.mode()
}

/// Tells if a file stands above the path, so that there is nothing at it.
pub(crate) fn is_beneath_a_file(sandbox: &Sandbox, path: &Path) -> bool {
    let root = sandbox.working_root().path();
    let above = path.ancestors().skip(1).take_while(|above| above.starts_with(root));
    above.filter_map(|above| resolve(sandbox, above).ok()).any(|above| above.found() == Found::File)
}
