//! Files that the journal or a preview names, looked at through the sandbox.
//!
//! Law: no link is followed, and a content is hashed as a stream. A file whose size is not the recorded one is
//! not read at all.

use std::path::Path;

use jm_files::{Found, OpenFile, SafePath, Sandbox};
use jm_store::FileState;
use jm_types::Digest;

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

/// Hashes the file at a path without its content in memory; `None` where there is none.
pub(crate) fn digest_at(sandbox: &Sandbox, path: &Path) -> Result<Option<Digest>, String> {
    let path = resolve(sandbox, path)?;
    if path.is_missing() {
        return Ok(None);
    }
    let digest = open(&path)?.digest();
    digest.map(Some).map_err(|error| error.to_string())
}

/// The thing that stands at a path, compared with recorded states and read at most once.
#[derive(Debug)]
pub(crate) struct Standing<'a> {
    path: &'a SafePath,
    digest: Option<Digest>,
}

impl<'a> Standing<'a> {
    pub(crate) fn at(path: &'a SafePath) -> Self {
        Self { path, digest: None }
    }

    pub(crate) fn is_directory(&self) -> bool {
        self.path.found() == Found::Directory
    }

    /// Compares with a recorded state, but for the permissions. A file of another size is not read.
    pub(crate) fn is(&mut self, state: FileState) -> Result<bool, String> {
        match state {
            FileState::Missing => Ok(self.path.is_missing()),
            FileState::Directory { .. } => Ok(self.is_directory()),
            FileState::File { .. } if self.path.is_missing() || self.is_directory() => Ok(false),
            FileState::File { sha256, size, .. } => self.has(sha256, size),
        }
    }

    fn has(&mut self, sha256: Digest, size: Option<u64>) -> Result<bool, String> {
        if let Some(known) = self.digest {
            return Ok(known == sha256);
        }
        let mut file = open(self.path)?;
        if size.is_some_and(|size| size != file.size) {
            return Ok(false);
        }
        let digest = file.digest().map_err(|error| error.to_string())?;
        self.digest = Some(digest);
        Ok(digest == sha256)
    }

    /// The permission bits of a file.
    pub(crate) fn mode(&self) -> Option<u32> {
        OpenFile::open(self.path).ok()?.mode()
    }
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
        Found::Directory => Err("is a directory now".to_owned()),
        Found::Missing { .. } | Found::File | Found::Special(_) => {
            OpenFile::open(path).map_err(|error| error.to_string())
        }
    }
}

/// Tells if a file stands above the path, so that there is nothing at it.
pub(crate) fn is_beneath_a_file(sandbox: &Sandbox, path: &Path) -> bool {
    let root = sandbox.working_root().path();
    let above = path.ancestors().skip(1).take_while(|above| above.starts_with(root));
    above.filter_map(|above| resolve(sandbox, above).ok()).any(|above| above.found() == Found::File)
}
