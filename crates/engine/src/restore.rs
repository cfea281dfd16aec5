//! Bringing paths to a state that the journal remembers.
//!
//! Law: what stands at a path is compared before it is replaced. Where a file and a directory traded
//! places, the directory is one thing with all that is in it: all of it is what is expected, or
//! nothing of it is touched.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jm_store::{FileState, Store, StoreError};
use jm_types::Digest;
use jm_workspace::{After, FileChange, Found, Node, OpenFile, SafePath, Sandbox, Trade};

use crate::undo::Guard;

/// What a path must be now, and what it shall be.
#[derive(Debug, Clone)]
pub(crate) struct Restore {
    pub(crate) path: PathBuf,
    pub(crate) expected: FileState,
    pub(crate) wanted: FileState,
}

/// Why a path is left alone.
#[derive(Debug)]
pub(crate) struct Blocked {
    pub(crate) why: String,
    /// It can never be put back, so nothing waits for it.
    pub(crate) for_good: bool,
}

impl Blocked {
    fn for_now(why: impl Into<String>) -> Self {
        Self { why: why.into(), for_good: false }
    }
}

const CHANGED: &str = "it changed since; use --force to overwrite it";

pub(crate) fn is_directory(state: FileState) -> bool {
    matches!(state, FileState::Directory { .. })
}

fn is_file(state: FileState) -> bool {
    matches!(state, FileState::File { .. })
}

impl Restore {
    pub(crate) fn is_about_a_directory(&self) -> bool {
        is_directory(self.wanted) || is_directory(self.expected)
    }

    fn is_trade(&self) -> bool {
        is_directory(self.expected) && is_file(self.wanted)
            || is_file(self.expected) && is_directory(self.wanted)
    }
}

/// A path of the journal, through the sandbox like any other.
pub(crate) fn safe(sandbox: &Sandbox, path: &Path) -> Result<SafePath, String> {
    if is_gits(path) {
        return Err("it belongs to git".to_owned());
    }
    let root = sandbox.working_root().path();
    let relative = path.strip_prefix(root).map_err(|_| "it is not in this workspace".to_owned())?;
    let text = relative.to_str().ok_or("its name is not UTF-8")?;
    let safe = sandbox.resolve(if text.is_empty() { "." } else { text });
    let safe = safe.map_err(|error| error.to_string())?;
    match safe.absolute() == path {
        true => Ok(safe),
        false => Err("a symbolic link stands there now".to_owned()),
    }
}

fn is_gits(path: &Path) -> bool {
    path.iter().any(|name| name == ".git")
}

/// What a file is now, as a whole: for what is about to be replaced.
pub(crate) fn current(path: &SafePath) -> Result<Option<Vec<u8>>, String> {
    match path.found() {
        Found::Missing { .. } => Ok(None),
        Found::Directory => Err("it is a directory now".to_owned()),
        Found::File | Found::Special(_) => {
            let read = OpenFile::open(path).and_then(|mut file| file.read_up_to(u64::MAX / 2));
            read.map(|(bytes, _)| Some(bytes)).map_err(|error| error.to_string())
        }
    }
}

/// The hash of what a file is now, without its content in memory; `None` where there is no file.
pub(crate) fn current_digest(path: &SafePath) -> Result<Option<Digest>, String> {
    match path.found() {
        Found::Missing { .. } => Ok(None),
        Found::Directory => Err("it is a directory now".to_owned()),
        Found::File | Found::Special(_) => {
            let digest = OpenFile::open(path).and_then(|mut file| file.digest());
            digest.map(Some).map_err(|error| error.to_string())
        }
    }
}

/// The permission bits of a file.
pub(crate) fn mode_of(path: &SafePath) -> Option<u32> {
    OpenFile::open(path).ok()?.mode()
}

pub(crate) fn mode(state: &FileState) -> Option<u32> {
    match state {
        FileState::File { mode, .. } | FileState::Directory { mode } => Some(*mode),
        FileState::Missing => None,
    }
}

/// Where a file stands in the way there is nothing beneath it.
pub(crate) fn is_beneath_a_file(sandbox: &Sandbox, path: &Path) -> bool {
    let root = sandbox.working_root().path();
    let above = path.ancestors().skip(1).take_while(|above| above.starts_with(root));
    above.filter_map(|above| safe(sandbox, above).ok()).any(|above| above.found() == Found::File)
}

/// The change of one file, if it is not what it shall be already.
pub(crate) fn plain(
    (sandbox, store): (&Sandbox, &Store),
    restore: &Restore,
    guard: Guard,
) -> Result<Option<FileChange>, Blocked> {
    if restore.is_about_a_directory() {
        return Ok(None);
    }
    if restore.wanted == FileState::Missing && is_beneath_a_file(sandbox, &restore.path) {
        return Ok(None);
    }
    let path = safe(sandbox, &restore.path)
        .map_err(|why| Blocked { for_good: is_gits(&restore.path), why })?;
    let digest = current_digest(&path).map_err(Blocked::for_now)?;
    let is = |state: &FileState| match state {
        FileState::File { sha256, .. } => digest == Some(*sha256),
        FileState::Missing => digest.is_none(),
        FileState::Directory { .. } => false,
    };
    if is(&restore.wanted) && mode_of(&path) == mode(&restore.wanted) {
        return Ok(None);
    }
    if !is(&restore.expected) && !is(&restore.wanted) && guard == Guard::Hash {
        return Err(Blocked::for_now(CHANGED));
    }
    let after = match restore.wanted {
        FileState::File { sha256, mode } => {
            After::Content { bytes: content(store, sha256)?, mode: Some(mode) }
        }
        FileState::Missing | FileState::Directory { .. } => After::Absent,
    };
    // Only what is replaced is read as a whole; the exchange compares it once more.
    let before = current(&path).map_err(Blocked::for_now)?.map(Arc::new);
    Ok(Some(FileChange { path, before, after }))
}

fn content(store: &Store, sha256: Digest) -> Result<Vec<u8>, Blocked> {
    store.blob(sha256).map_err(|error| Blocked {
        // What was let go does not come back, so nothing waits for it.
        for_good: matches!(error, StoreError::Released(_)),
        why: error.to_string(),
    })
}

/// A path where a file and a directory traded places, and everything beneath it.
#[derive(Debug)]
pub(crate) struct Traded {
    pub(crate) at: Restore,
    beneath: Vec<Restore>,
}

/// Takes out what must go together. Paths come in order, so that what is above comes first.
pub(crate) fn take_trades(restores: Vec<Restore>) -> (Vec<Restore>, Vec<Traded>) {
    let mut rest = Vec::new();
    let mut trades: Vec<Traded> = Vec::new();
    for restore in restores {
        let above = trades.iter_mut().find(|trade| restore.path.starts_with(&trade.at.path));
        match above {
            Some(trade) => trade.beneath.push(restore),
            None if restore.is_trade() => {
                trades.push(Traded { at: restore, beneath: Vec::new() });
            }
            None => rest.push(restore),
        }
    }
    (rest, trades)
}

impl Traded {
    /// The trade, if it is not done already.
    pub(crate) fn prepare(
        &self,
        (sandbox, store): (&Sandbox, &Store),
        guard: Guard,
    ) -> Result<Option<Trade>, Blocked> {
        let path = safe(sandbox, &self.at.path)
            .map_err(|why| Blocked { for_good: is_gits(&self.at.path), why })?;
        if path.is_missing() {
            return Err(Blocked::for_now("it is gone; put it back by hand"));
        }
        let before = Node::read(&path)
            .map_err(|error| Blocked::for_now(format!("it cannot be put back later: {error}")))?;
        if self.is_wanted(&before) {
            return Ok(None);
        }
        if guard == Guard::Hash && !self.is(&before, |restore| restore.expected) {
            return Err(Blocked::for_now(CHANGED));
        }
        // Also what is only swept along must be ours to touch.
        for (inner, _) in before.walk(&self.at.path) {
            safe(sandbox, &inner).map_err(|why| {
                let inner = inner.display();
                Blocked { for_good: false, why: format!("it holds {inner}: {why}") }
            })?;
        }
        let after = self.node(store)?;
        match is_same_kind(&before, &after) {
            // Somebody has put the right kind of thing there, with another content.
            true => Err(Blocked::for_now("it changed since; put it back by hand")),
            false => Ok(Some(Trade { path, before, after })),
        }
    }

    /// It is, with all that is in it, what shall stand there.
    pub(crate) fn is_wanted(&self, node: &Node) -> bool {
        self.is(node, |restore| restore.wanted)
    }

    /// What stands there is, with all that is in it, what the records say of that side.
    fn is(&self, node: &Node, side: impl Fn(&Restore) -> FileState) -> bool {
        let told: BTreeMap<&Path, FileState> = std::iter::once(&self.at)
            .chain(&self.beneath)
            .map(|restore| (restore.path.as_path(), side(restore)))
            .filter(|(_, state)| *state != FileState::Missing)
            .collect();
        let found = node.walk(&self.at.path);
        let is_told = |(path, node): &(PathBuf, &Node)| match (told.get(path.as_path()), node) {
            (Some(FileState::File { sha256, .. }), Node::File { bytes, .. }) => {
                Digest::of(bytes) == *sha256
            }
            (Some(FileState::Directory { .. }), Node::Directory { .. }) => true,
            _ => false,
        };
        found.len() == told.len() && found.iter().all(is_told)
    }

    /// What shall stand there.
    fn node(&self, store: &Store) -> Result<Node, Blocked> {
        let mut node = leaf(store, self.at.wanted)?;
        for restore in &self.beneath {
            if restore.wanted == FileState::Missing {
                continue;
            }
            let inner = leaf(store, restore.wanted)?;
            let names = restore.path.strip_prefix(&self.at.path).unwrap_or(Path::new(""));
            put(&mut node, &names.iter().map(OsString::from).collect::<Vec<_>>(), inner);
        }
        Ok(node)
    }
}

fn is_same_kind(one: &Node, other: &Node) -> bool {
    matches!(one, Node::File { .. }) == matches!(other, Node::File { .. })
}

fn leaf(store: &Store, state: FileState) -> Result<Node, Blocked> {
    match state {
        FileState::File { sha256, mode } => {
            Ok(Node::File { bytes: Arc::new(content(store, sha256)?), mode })
        }
        FileState::Directory { mode } => Ok(Node::Directory { mode, holds: BTreeMap::new() }),
        FileState::Missing => Err(Blocked::for_now("nothing is known to have stood there")),
    }
}

/// Directories come before what is in them.
fn put(node: &mut Node, names: &[OsString], inner: Node) {
    let (Node::Directory { holds, .. }, Some((first, rest))) = (node, names.split_first()) else {
        return;
    };
    match (rest.is_empty(), holds.get_mut(first)) {
        (false, Some(below)) => put(below, rest, inner),
        (false, None) => {}
        (true, _) => drop(holds.insert(first.clone(), inner)),
    }
}
