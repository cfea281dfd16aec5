//! Listing: what lies below a directory, as an editor's file tree shows it (FJ-LIST, FJ-GLOB).
//!
//! Law: ignored files, `.git` and `node_modules` are passed over, links are followed only where that
//! is asked for and never out of the root or in circles, and the number of entries is bounded.

use std::collections::{BTreeSet, VecDeque};
use std::path::PathBuf;

use ignore::overrides::Override;
use jm_files::walk::{WalkEntry, WalkFilter, WalkStep};
use jm_files::{EntryKind, Found, OpenFile, SafePath, Sandbox};
use jm_types::ToolError;

use crate::context::Scope;
use crate::foresight::Foreseen;
use crate::operation::{Execution, Operation};
use crate::ops::binary::{SNIFF, is_binary};
use crate::ops::gather::{Choice, FindOutcome, FoundFile, Gathering};
use crate::ops::resolve_existing;
use crate::ops::search::compile_globs;
use crate::tool::{PathUse, Use};

/// Folders that no editor shows.
const NEVER: &[&str] = &[".git", "node_modules"];
/// The most entries that are gathered before the first of them are chosen.
const MOST_GATHERED: usize = 200_000;

/// A listing of a tree without what editors hide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The directory, as the call spells it.
    pub path: String,
    /// The number of levels below the directory.
    pub depth: usize,
    /// Tells hidden names too.
    pub hidden: bool,
    /// The treatment of links to directories.
    pub links: Links,
    /// Globs of the text files that count, without what is binary; none for everything, directories too.
    pub patterns: Vec<String>,
    /// The most entries of the outcome.
    pub most: usize,
}

/// The treatment of links to directories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// Told as links.
    Shown,
    /// Listed like directories, as long as they stay in the sandbox.
    Entered,
}

impl Listing {
    /// Walks the tree and chooses the first entries.
    pub fn run(&self, scope: &Scope) -> Result<FindOutcome, ToolError> {
        let sandbox = &scope.workspace.sandbox;
        let wanted = compile_globs(&self.patterns)?;
        let start = resolve_existing(sandbox, &self.path)?;
        // Each directory is listed once, by its own name rather than by a link's.
        let mut entered: BTreeSet<PathBuf> = BTreeSet::new();
        let name = start.asked().to_owned();
        let mut waiting = VecDeque::from([(start, name, self.depth)]);
        let mut files: Vec<FoundFile> = Vec::new();
        while let Some((start, name, depth)) = waiting.pop_front() {
            if !entered.insert(start.absolute()) {
                continue;
            }
            let here = start.absolute();
            for (relative, entry) in self.below(scope, &start, &name, depth)? {
                let level = relative.iter().count();
                match entry.kind {
                    EntryKind::Directory if level < depth => {
                        entered.insert(here.join(&relative));
                    }
                    EntryKind::Symlink if self.links == Links::Entered && level < depth => {
                        if let Ok(target) = sandbox.resolve(&entry.path)
                            && target.found() == Found::Directory
                        {
                            waiting.push_back((target, entry.path.clone(), depth - level));
                        }
                    }
                    _ => {}
                }
                files.push(entry);
            }
        }
        files.retain(|file| self.counts(&wanted, file));
        files.sort_by(|a, b| a.path.cmp(&b.path));
        let texts = files.into_iter().filter(|file| !self.is_left_out(sandbox, file));
        // One more than is asked for tells that there are more; the rest need not be looked into.
        let mut files: Vec<FoundFile> = texts.take(self.most.saturating_add(1)).collect();
        scope.cancel.checkpoint()?;
        let is_cut = files.len() > self.most;
        files.truncate(self.most);
        Ok(FindOutcome { files, is_cut, is_partial: false })
    }

    /// Everything below one directory, with its path from there.
    fn below(
        &self,
        scope: &Scope,
        start: &SafePath,
        name: &str,
        depth: usize,
    ) -> Result<Vec<(PathBuf, FoundFile)>, ToolError> {
        let passing = WalkFilter { hidden: !self.hidden, ignored: true };
        let choose = |met: &WalkEntry<'_>| {
            let is_never =
                met.path.file_name().is_some_and(|own| NEVER.iter().any(|one| own == *one));
            if is_never {
                return Choice::Leave(WalkStep::Past);
            }
            let level = met.path.iter().count();
            Choice::Take(if level >= depth { WalkStep::Past } else { WalkStep::On })
        };
        Gathering { start, name, passing, most: MOST_GATHERED }.run(scope, &choose)
    }

    /// A binary file is no answer to a pattern (FJ-GLOB). One that cannot be read is not known to be one.
    fn is_left_out(&self, sandbox: &Sandbox, file: &FoundFile) -> bool {
        if self.patterns.is_empty() || file.kind != EntryKind::File {
            return false;
        }
        let opened = sandbox.resolve(&file.path).and_then(|path| OpenFile::open(&path));
        let head = opened.and_then(|mut file| {
            let (head, more) = file.read_up_to(SNIFF as u64)?;
            Ok(is_binary(&head, !more))
        });
        head.unwrap_or(false)
    }

    fn counts(&self, wanted: &Override, file: &FoundFile) -> bool {
        if self.patterns.is_empty() {
            return true;
        }
        file.kind != EntryKind::Directory
            && wanted.matched(format!("/{}", file.path), false).is_whitelist()
    }
}

impl Operation for Listing {
    type Outcome = FindOutcome;

    fn paths(&self) -> Vec<PathUse> {
        vec![PathUse::new(&self.path, Use::List)]
    }

    fn foresee(&self, _: &Scope) -> Foreseen {
        Foreseen::NOTHING
    }

    fn perform(self, execution: Execution<'_>) -> Result<FindOutcome, ToolError> {
        self.run(execution.scope)
    }
}
