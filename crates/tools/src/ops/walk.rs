//! Walk: the entries of a directory, depth first, without following links (FR-TOOL-LIST-01).
//!
//! Law: one unreadable entry never fails the walk, and neither depth nor breadth uses up the stack
//! or the memory: directories wait on a heap, and the walk ends at the number asked for.

use std::ffi::OsString;
use std::path::PathBuf;

use jm_files::{DirectoryEntry, EntryKind, OpenDirectory, Sandbox};
use jm_types::ToolError;

use crate::context::Scope;
use crate::foresight::Foreseen;
use crate::operation::{Execution, Operation};
use crate::ops::resolve_existing;
use crate::tool::{PathUse, Use};

/// A listing of a tree, level by level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Walk {
    /// The directory, as the call spells it.
    pub path: String,
    /// Levels below it.
    pub depth: usize,
    /// The most entries of the outcome.
    pub most: usize,
    /// The kinds that count.
    pub kinds: Kinds,
    /// The treatment of names with a dot.
    pub hidden: Hidden,
    /// The order before the cut.
    pub order: Order,
}

/// The order in which entries are told, before the number asked for is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Depth first, by name.
    DepthFirst,
    /// Directories first, then everything else, by their paths' letters.
    DirectoriesFirst,
}

/// The most entries that are gathered before the first of them are chosen.
const MOST_GATHERED: usize = 100_000;

/// The treatment of names with a dot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hidden {
    /// Neither told nor entered.
    Skip,
    /// Told and entered.
    Show,
}

/// The kinds of entries that count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kinds {
    /// Regular files.
    pub files: bool,
    /// Directories.
    pub directories: bool,
    /// Symbolic links.
    pub symlinks: bool,
    /// Devices, FIFOs and sockets.
    pub other: bool,
}

/// One entry of a walk.
#[derive(Debug, Clone)]
pub struct Walked {
    /// Relative to the listed directory.
    pub path: PathBuf,
    /// Levels below the listed directory, from 1.
    pub depth: usize,
    /// The entry's facts.
    pub entry: DirectoryEntry,
}

/// The entries of a walk.
#[derive(Debug)]
pub struct WalkOutcome {
    /// The directory, as the call named it.
    pub asked: String,
    /// The directory, as answers name it.
    pub path: String,
    /// The most entries that were asked for.
    pub most: usize,
    /// The entries in order, cut to `most`.
    pub entries: Vec<Walked>,
    /// There were more than asked for.
    pub is_cut: bool,
}

/// A directory whose remaining names wait to be visited.
struct Level {
    directory: OpenDirectory,
    names: std::vec::IntoIter<OsString>,
    path: PathBuf,
}

impl Walk {
    /// Walks without following links.
    pub fn run(&self, scope: &Scope) -> Result<WalkOutcome, ToolError> {
        if self.order == Order::DepthFirst {
            return self.gather(scope, self.most);
        }
        let mut outcome = self.gather(scope, self.most.max(MOST_GATHERED))?;
        outcome.entries.sort_by_cached_key(|walked| {
            let name = walked.path.to_string_lossy().into_owned();
            (walked.entry.kind != EntryKind::Directory, name.to_lowercase(), name)
        });
        outcome.is_cut |= outcome.entries.len() > self.most;
        outcome.entries.truncate(self.most);
        Ok(outcome)
    }

    /// The first `most` entries, depth first.
    fn gather(&self, scope: &Scope, most: usize) -> Result<WalkOutcome, ToolError> {
        let sandbox = &scope.workspace.sandbox;
        let path = resolve_existing(sandbox, &self.path)?;
        let directory = OpenDirectory::open(&path)?;
        let names = directory.names().map_err(|(_, why)| ToolError::io(&self.path, why))?;
        let mut levels = vec![Level { directory, names: names.into_iter(), path: PathBuf::new() }];
        let mut entries = Vec::new();
        let outcome = |entries, is_cut| {
            let (asked, path) = (self.path.clone(), path.asked().to_owned());
            WalkOutcome { asked, path, most: self.most, entries, is_cut }
        };
        loop {
            scope.cancel.checkpoint()?;
            let depth = levels.len();
            let Some(level) = levels.last_mut() else {
                return Ok(outcome(entries, false));
            };
            let Some(name) = level.names.next() else {
                levels.pop();
                continue;
            };
            if self.hidden == Hidden::Skip && is_hidden(&name) {
                continue;
            }
            let (walked, below) = self.visit(sandbox, level, name, depth);
            if self.kinds.include(walked.entry.kind) {
                if entries.len() == most {
                    return Ok(outcome(entries, true));
                }
                entries.push(walked);
            }
            levels.extend(below);
        }
    }

    /// Looks at one entry; a directory within the depth also gives the level below it.
    fn visit(
        &self,
        sandbox: &Sandbox,
        level: &Level,
        name: OsString,
        depth: usize,
    ) -> (Walked, Option<Level>) {
        let path = level.path.join(&name);
        let mut entry = level.directory.entry(sandbox, name);
        let enters = entry.kind == EntryKind::Directory && depth < self.depth && !entry.denied;
        let below = enters.then(|| {
            let directory = level.directory.enter(&entry.name)?;
            let names = directory.names()?.into_iter();
            Ok(Level { directory, names, path: path.clone() })
        });
        let below = match below {
            None => None,
            Some(Ok(level)) => Some(level),
            Some(Err(error)) => {
                entry.kind = EntryKind::Unknown;
                entry.error = Some(error);
                None
            }
        };
        (Walked { path, depth, entry }, below)
    }
}

impl Operation for Walk {
    type Outcome = WalkOutcome;

    fn paths(&self) -> Vec<PathUse> {
        vec![PathUse::new(&self.path, Use::List)]
    }

    fn foresee(&self, _: &Scope) -> Foreseen {
        Foreseen::NOTHING
    }

    fn perform(self, execution: Execution<'_>) -> Result<WalkOutcome, ToolError> {
        self.run(execution.scope)
    }
}

/// Tells a name that begins with a dot.
pub fn is_hidden(name: &OsString) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

impl Kinds {
    fn include(self, kind: EntryKind) -> bool {
        match kind {
            EntryKind::File => self.files,
            EntryKind::Directory => self.directories,
            EntryKind::Symlink => self.symlinks,
            EntryKind::Other => self.other,
            EntryKind::Unknown => true,
        }
    }
}
