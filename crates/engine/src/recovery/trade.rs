//! A file and a directory that traded places, as one thing with all that is in it.
//!
//! Law: all of the directory is what is expected, or nothing of it is touched.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jm_files::{Node, Sandbox, Trade};
use jm_store::{FileState, Store};
use jm_types::Digest;

use super::converge::{Blocked, CHANGED, Guard, PathGoal, content};
use crate::files::resolve;

fn is_trade(target: &PathGoal) -> bool {
    target.expected.is_directory() && target.wanted.is_file()
        || target.expected.is_file() && target.wanted.is_directory()
}

/// A path where a file and a directory traded places, and everything beneath it.
#[derive(Debug)]
pub(crate) struct Traded {
    pub(crate) at: PathGoal,
    beneath: Vec<PathGoal>,
}

/// Takes out what must go together. Paths come in order, so that what is above comes first.
pub(crate) fn take_trades(targets: Vec<PathGoal>) -> (Vec<PathGoal>, Vec<Traded>) {
    let mut rest = Vec::new();
    let mut trades: Vec<Traded> = Vec::new();
    for target in targets {
        let above = trades.iter_mut().find(|trade| target.path.starts_with(&trade.at.path));
        match above {
            Some(trade) => trade.beneath.push(target),
            None if is_trade(&target) => {
                trades.push(Traded { at: target, beneath: Vec::new() });
            }
            None => rest.push(target),
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
        let path = resolve(sandbox, &self.at.path)
            .map_err(|why| Blocked::unreachable(&self.at.path, why))?;
        if path.is_missing() {
            return Err(Blocked::for_now("gone; restore it by hand"));
        }
        let before = Node::read(&path)
            .map_err(|error| Blocked::for_now(format!("cannot be restored later: {error}")))?;
        if self.is_wanted(&before) {
            return Ok(None);
        }
        if guard == Guard::Hash && !self.is(&before, |target| target.expected) {
            return Err(Blocked::for_now(CHANGED));
        }
        // Also what is only swept along must be ours to touch.
        for (inner, _) in before.walk(&self.at.path) {
            resolve(sandbox, &inner).map_err(|why| {
                let inner = inner.display();
                Blocked { for_good: false, why: format!("it holds {inner}: {why}") }
            })?;
        }
        let after = self.node(store)?;
        if is_same_kind(&before, &after) {
            // Somebody has put the right kind of thing there, with another content.
            return Err(Blocked::for_now("changed since; restore it by hand"));
        }
        Ok(Some(Trade { path, before, after }))
    }

    /// It is, with all that is in it, what shall stand there.
    pub(crate) fn is_wanted(&self, node: &Node) -> bool {
        self.is(node, |target| target.wanted)
    }

    /// Compares a node, with all that is in it, with one side of the records.
    fn is(&self, node: &Node, side: impl Fn(&PathGoal) -> FileState) -> bool {
        let told: BTreeMap<&Path, FileState> = std::iter::once(&self.at)
            .chain(&self.beneath)
            .map(|target| (target.path.as_path(), side(target)))
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

    /// The node that shall stand there.
    fn node(&self, store: &Store) -> Result<Node, Blocked> {
        let mut node = leaf(store, self.at.wanted)?;
        for target in &self.beneath {
            if target.wanted == FileState::Missing {
                continue;
            }
            let inner = leaf(store, target.wanted)?;
            let names = target.path.strip_prefix(&self.at.path).unwrap_or(Path::new(""));
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
        FileState::File { sha256, mode, .. } => {
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
