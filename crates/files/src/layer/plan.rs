//! The changes that a layer makes to the workspace beneath it, one step a name.
//!
//! Law: a copy that equals what lies beneath is no change. What somebody else changed beneath since the
//! layer was mounted is a conflict, and a conflict keeps nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{self, Mode, OFlags};
use rustix::io::{self, Errno};

use super::attributes_origin::{AttributeAuthor, AttributeBase, DifferingDirectory};
use super::directory_guard::{OpenedDirectory, searchable};
use super::marks;
use super::node::{NodeFacts, NodeKind, attributes};
use super::node_difference::is_same;
use super::step::{ExtendedChange, LayerStep, LayerWork};
use super::{Layer, open_directory_at};
use crate::file::OpenDirectory;
use crate::names::{Protection, protection_in};

/// How much of a layer is looked at before it is too large to be kept by itself.
#[derive(Debug, Clone, Copy)]
pub struct LayerBounds {
    /// Names that a layer may change.
    pub nodes: u64,
    /// Levels below its root.
    pub depth: usize,
}

impl Default for LayerBounds {
    fn default() -> Self {
        Self { nodes: 2_000_000, depth: 256 }
    }
}

/// A path that changed both in the layer and beneath it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayerConflict {
    /// Relative to the root.
    pub path: PathBuf,
    /// The reason in one sentence.
    pub why: &'static str,
}

/// Why a node is never kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NeverKept {
    /// A block or character device.
    Device,
    /// Set-user-id or set-group-id on a file: the bits are dropped and the file is kept.
    SetId,
    /// Journeyman's own configuration: a command decides nothing about the program that confines it.
    OwnConfiguration,
}

impl NeverKept {
    /// The reason for the person.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Device => "a device",
            Self::SetId => "its set-id bits are removed",
            Self::OwnConfiguration => "Journeyman's own configuration",
        }
    }
}

/// A name that cannot be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedNode {
    /// Relative to the root.
    pub path: PathBuf,
    /// The reason.
    pub why: NeverKept,
}

/// A node that the layer changes, for whoever judges names.
#[derive(Debug, Clone, Copy)]
pub struct TouchedNode<'a> {
    /// Relative to the root.
    pub path: &'a Path,
    /// The node that stands there now; `None` for a name that is new.
    pub before: Option<&'a NodeFacts>,
    /// The node that will stand there; `None` for one that goes.
    pub after: Option<&'a NodeFacts>,
}

/// Everything that keeping a layer would do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LayerPlan {
    /// Operations in the order of keeping.
    pub steps: Vec<LayerStep>,
    /// Names that others changed meanwhile.
    pub conflicts: Vec<LayerConflict>,
    /// Names of kinds that are never kept.
    pub refused: Vec<RefusedNode>,
}

impl Layer {
    /// Reads the layer. Its command and everything it started must have ended. `touch` is told of each node
    /// that changes, also of those inside directories that come or go whole.
    pub fn plan(
        &self,
        bounds: LayerBounds,
        touch: &mut dyn FnMut(TouchedNode<'_>),
    ) -> io::Result<LayerPlan> {
        Ok(self.plan_with_bases(bounds, touch)?.0)
    }

    /// Writes down whose attributes those of directories are, for a layer that is read again when others were kept.
    pub fn remember_attributes(&self) -> io::Result<()> {
        let (_, bases) = self.plan_with_bases(LayerBounds::default(), &mut |_| {})?;
        if bases.is_empty() { Ok(()) } else { self.write_attributes(&bases) }
    }

    /// The plan, and the attributes from before the command of directories where they differ.
    pub(super) fn plan_with_bases(
        &self,
        bounds: LayerBounds,
        touch: &mut dyn FnMut(TouchedNode<'_>),
    ) -> io::Result<(LayerPlan, Vec<AttributeBase>)> {
        let mut reader = Reader {
            layer: self,
            known: self.known_attributes()?,
            bases: Vec::new(),
            plan: LayerPlan::default(),
            left: bounds.nodes,
            groups: BTreeMap::new(),
            touch,
        };
        let root = NodeFacts::of(&fs::fstat(&self.upper)?);
        reader.merge((&self.upper, &self.lower), Path::new(""), &root, bounds.depth)?;
        reader.regroup();
        let (mut plan, bases) = (reader.plan, reader.bases);
        // Attributes last and from the inside out: what is done inside a directory changes its time.
        let rank = |step: &LayerStep| match step.work {
            LayerWork::Attributes => (1, usize::MAX - step.path.components().count()),
            LayerWork::Create | LayerWork::Replace | LayerWork::Delete => (0, 0),
        };
        plan.steps.sort_by(|a, b| rank(a).cmp(&rank(b)).then_with(|| a.path.cmp(&b.path)));
        plan.steps.iter_mut().enumerate().for_each(|(number, step)| step.number = number);
        Ok((plan, bases))
    }
}

struct Reader<'a> {
    layer: &'a Layer,
    /// Attributes from before the command that were written down.
    known: Vec<AttributeBase>,
    /// The same, as far as they are known now.
    bases: Vec<AttributeBase>,
    plan: LayerPlan,
    left: u64,
    /// Files of the upper with several names: their names, changed or not.
    groups: BTreeMap<u64, Vec<LayerStep>>,
    touch: &'a mut dyn FnMut(TouchedNode<'_>),
}

impl Reader<'_> {
    /// Compares a directory of the upper with the one that it is merged with.
    fn merge(
        &mut self,
        (upper, lower): (&OwnedFd, &OwnedFd),
        path: &Path,
        after: &NodeFacts,
        depth: usize,
    ) -> io::Result<()> {
        let before = NodeFacts::of(&fs::fstat(lower)?);
        let mut is_changed = false;
        let names = self.names(upper, depth)?;
        for name in &names {
            let path = path.join(name);
            let Some(after) = NodeFacts::at(upper, name)? else { continue };
            if is_own(name) {
                self.refuse(path, NeverKept::OwnConfiguration);
                continue;
            }
            let before = NodeFacts::at(lower, name)?;
            let steps = self.plan.steps.len();
            self.compare((upper, lower), name, &path, (before, after), depth)?;
            is_changed |= self.plan.steps.len() > steps;
        }
        let extended = &ExtendedChange {
            before: attributes(lower.as_fd())?,
            after: attributes(upper.as_fd())?,
        };
        let (before, has_names) = (&before, !names.is_empty());
        self.dress(
            DifferingDirectory { path, upper, before, after, extended, has_names },
            is_changed,
        )
    }

    /// Compares the attributes of a directory that stays, in which something `is_changed`.
    fn dress(&mut self, directory: DifferingDirectory<'_>, is_changed: bool) -> io::Result<()> {
        let DifferingDirectory { path, before, after, extended, .. } = directory;
        let has_other = extended.before != extended.after;
        let is_other = has_other || !after.has_attributes_of(before);
        if is_other {
            let author = directory.author(&self.known, self.layer.marker)?;
            self.bases.extend(directory.base(author));
            match author {
                // The time that belongs to them stays too.
                AttributeAuthor::Other => return Ok(()),
                AttributeAuthor::Both => {
                    self.conflict(path, "its attributes were changed meanwhile");
                }
                AttributeAuthor::Command => {}
            }
            self.judge(path, Some(before), after);
        }
        // A name that is exchanged changes the directory's time, also where the command did not.
        let same_time = after.modified == before.modified || self.is_beneath_newer(before);
        if is_other || is_changed || !same_time {
            self.step(LayerStep {
                number: 0,
                path: path.to_owned(),
                work: LayerWork::Attributes,
                before: Some(before.clone()),
                after: Some(after.clone()),
                extended: has_other.then(|| extended.clone()),
            });
        }
        Ok(())
    }

    /// The names in a directory, sorted, and counted against the bounds.
    fn names(&mut self, directory: &OwnedFd, depth: usize) -> io::Result<Vec<OsString>> {
        if depth == 0 {
            return Err(Errno::NAMETOOLONG);
        }
        let mut names = OpenDirectory::names_in(directory)?;
        self.left = self.left.checked_sub(names.len() as u64).ok_or(Errno::TOOBIG)?;
        names.sort();
        Ok(names)
    }

    fn compare(
        &mut self,
        (upper, lower): (&OwnedFd, &OwnedFd),
        name: &OsStr,
        path: &Path,
        (before, after): (Option<NodeFacts>, NodeFacts),
        depth: usize,
    ) -> io::Result<()> {
        match after.kind {
            NodeKind::Whiteout => self.delete(lower, name, path, before, depth),
            NodeKind::Device => {
                self.refuse(path.to_owned(), NeverKept::Device);
                Ok(())
            }
            NodeKind::Directory => {
                let directory = OpenedDirectory::at(upper, name)?;
                let is_directory = before.as_ref().is_some_and(|b| b.kind == NodeKind::Directory);
                if is_directory && !marks::is_opaque(&directory)? {
                    return match open_directory_at(lower, name).and_then(searchable) {
                        // Commands do not see such directories, so it was another one when this one began.
                        Err(Errno::ACCESS) => {
                            self.conflict(path, "it was closed meanwhile");
                            Ok(())
                        }
                        beneath => self.merge((&directory, &beneath?), path, &after, depth - 1),
                    };
                }
                // A directory that lay beneath cannot be renamed on a layer, so this was its name.
                if before.is_none() && marks::is_copied_up(&directory)? {
                    self.conflict(path, "it was deleted meanwhile");
                }
                self.bring_tree(&directory, path, depth - 1)?;
                self.bring((upper, lower), name, path, (before, after), depth)
            }
            NodeKind::File | NodeKind::Link | NodeKind::Fifo | NodeKind::Socket => {
                self.bring((upper, lower), name, path, (before, after), depth)
            }
        }
    }

    fn delete(
        &mut self,
        lower: &OwnedFd,
        name: &OsStr,
        path: &Path,
        before: Option<NodeFacts>,
        depth: usize,
    ) -> io::Result<()> {
        // Gone on both sides.
        let Some(before) = before else { return Ok(()) };
        self.let_go(lower, name, path, &before, depth)?;
        let path = path.to_owned();
        let (work, before) = (LayerWork::Delete, Some(before));
        self.step(LayerStep { number: 0, path, work, before, after: None, extended: None });
        Ok(())
    }

    /// A node of the upper that takes a name of the workspace.
    fn bring(
        &mut self,
        (upper, lower): (&OwnedFd, &OwnedFd),
        name: &OsStr,
        path: &Path,
        (before, after): (Option<NodeFacts>, NodeFacts),
        depth: usize,
    ) -> io::Result<()> {
        let owned = path.to_owned();
        let step = |work, before| {
            let after = Some(after.clone());
            LayerStep { number: 0, path: owned, work, before, after, extended: None }
        };
        let Some(before) = before else {
            // A file that was renamed in the layer was copied up too; its old name does not lie here.
            let parent = NodeFacts::of(&fs::fstat(lower)?);
            let is_copy = after.kind == NodeKind::File && is_copied_up(upper, name);
            if is_copy && self.is_beneath_newer(&parent) {
                self.conflict(path, "it was deleted meanwhile");
            }
            self.judge(path, None, &after);
            self.add(step(LayerWork::Create, None), &after);
            return Ok(());
        };
        let is_same = is_same((upper, lower), name, &before, &after)?;
        let step = step(LayerWork::Replace, Some(before.clone()));
        if is_same {
            // Kept apart: it counts if another name of the same file does.
            if after.names > 1 && after.kind == NodeKind::File {
                self.groups.entry(after.inode).or_default().push(step);
            }
            return Ok(());
        }
        if before.kind == NodeKind::Directory {
            self.let_go(lower, name, path, &before, depth)?;
        } else {
            self.check_beneath(path, &before);
        }
        self.judge(path, Some(&before), &after);
        self.add(step, &after);
        Ok(())
    }

    /// Judges everything in a directory that comes whole.
    fn bring_tree(&mut self, directory: &OwnedFd, path: &Path, depth: usize) -> io::Result<()> {
        for name in self.names(directory, depth)? {
            let path = path.join(&name);
            let Some(facts) = NodeFacts::at(directory, &name)? else { continue };
            match facts.kind {
                _ if is_own(&name) => self.refuse(path, NeverKept::OwnConfiguration),
                NodeKind::Device => self.refuse(path, NeverKept::Device),
                NodeKind::Whiteout => {}
                NodeKind::Directory => {
                    let inner = OpenedDirectory::at(directory, &name)?;
                    self.judge(&path, None, &facts);
                    self.bring_tree(&inner, &path, depth - 1)?;
                }
                NodeKind::File | NodeKind::Link | NodeKind::Fifo | NodeKind::Socket => {
                    self.judge(&path, None, &facts);
                }
            }
        }
        Ok(())
    }

    /// Tells of everything that goes with a node of the workspace, and looks for what changed beneath.
    fn let_go(
        &mut self,
        parent: &OwnedFd,
        name: &OsStr,
        path: &Path,
        facts: &NodeFacts,
        depth: usize,
    ) -> io::Result<()> {
        (self.touch)(TouchedNode { path, before: Some(facts), after: None });
        let known = self.plan.conflicts.len();
        if facts.kind == NodeKind::Directory {
            self.let_go_inside(parent, name, path, depth)?;
        }
        // A directory that was moved there has a later time than all that is in it; one that got a new name is told
        // by that name.
        if self.plan.conflicts.len() == known {
            self.check_beneath(path, facts);
        }
        Ok(())
    }

    fn let_go_inside(
        &mut self,
        parent: &OwnedFd,
        name: &OsStr,
        path: &Path,
        depth: usize,
    ) -> io::Result<()> {
        // A directory that this person cannot list was not emptied by the command either.
        let Ok(directory) = open_directory_at(parent, name) else { return Ok(()) };
        for name in self.names(&directory, depth)? {
            let path = path.join(&name);
            let facts = match NodeFacts::at(&directory, &name) {
                // It can be listed and not searched.
                Err(Errno::ACCESS) => return Ok(()),
                facts => facts?,
            };
            let Some(facts) = facts else { continue };
            self.let_go(&directory, &name, &path, &facts, depth - 1)?;
        }
        Ok(())
    }

    fn check_beneath(&mut self, path: &Path, before: &NodeFacts) {
        if self.is_beneath_newer(before) {
            self.conflict(path, "it was changed meanwhile");
        }
    }

    fn is_beneath_newer(&self, before: &NodeFacts) -> bool {
        before.changed >= self.layer.marker
    }

    fn conflict(&mut self, path: &Path, why: &'static str) {
        self.plan.conflicts.push(LayerConflict { path: path.to_owned(), why });
    }

    fn judge(&mut self, path: &Path, before: Option<&NodeFacts>, after: &NodeFacts) {
        if after.kind == NodeKind::File && after.mode & 0o6000 != 0 {
            self.refuse(path.to_owned(), NeverKept::SetId);
        }
        (self.touch)(TouchedNode { path, before, after: Some(after) });
    }

    fn refuse(&mut self, path: PathBuf, why: NeverKept) {
        self.plan.refused.push(RefusedNode { path, why });
    }

    fn add(&mut self, step: LayerStep, after: &NodeFacts) {
        if after.names > 1 && after.kind == NodeKind::File {
            self.groups.entry(after.inode).or_default();
        }
        self.step(step);
    }

    fn step(&mut self, step: LayerStep) {
        self.plan.steps.push(step);
    }

    /// A new name of a file keeps its link only if the unchanged names of the same file come along. Each of these is
    /// judged as one that changes: whoever writes to the new name writes to them.
    fn regroup(&mut self) {
        let inode = |step: &LayerStep| step.after.as_ref().map(|after| after.inode);
        let moved: BTreeSet<u64> = self.plan.steps.iter().filter_map(inode).collect();
        for (inode, unchanged) in std::mem::take(&mut self.groups) {
            for step in unchanged.into_iter().filter(|_| moved.contains(&inode)) {
                if let Some(after) = &step.after {
                    self.judge(&step.path, step.before.as_ref(), after);
                }
                self.step(step);
            }
        }
    }
}

/// Tells whether a name is that of Journeyman's own configuration.
pub(super) fn is_own(name: &OsStr) -> bool {
    protection_in(Path::new(""), name) == Protection::Never
}

fn is_copied_up(upper: &OwnedFd, name: &OsStr) -> bool {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = fs::openat(upper, name, flags, Mode::empty());
    opened.is_ok_and(|file| marks::is_copied_up(file).unwrap_or(false))
}
