//! A layer as a person judges it: its changes, name by name, and those that make something run later.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use rustix::fd::OwnedFd;
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::{self, Errno};

use super::Layer;
use super::node::{NodeFacts, NodeKind};
use super::plan::{LayerBounds, LayerPlan};
use super::runs_later::NameJudge;
use super::step::{LayerStep, LayerWork};
use crate::open::open_beneath;

/// Names beyond this number are kept and not listed one by one.
pub(super) const MOST_NAMED: usize = 100_000;

/// The kind of change at one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeChange {
    /// A name that was not there.
    Created,
    /// Another content or other attributes.
    Changed,
    /// A name that is gone.
    Deleted,
}

/// The kinds of node at a name that a layer changes, before and after.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TouchedKinds {
    /// The kind before; `None` for a new name.
    pub before: Option<NodeKind>,
    /// The kind after; `None` for a name that is gone.
    pub after: Option<NodeKind>,
}

/// Everything that keeping a layer would do, and what to look at first.
#[derive(Debug, Clone, Default)]
pub struct LayerReport {
    /// The steps, conflicts and refusals.
    pub plan: LayerPlan,
    /// Each name that changes, also inside directories that come or go whole.
    pub touched: BTreeMap<PathBuf, TouchedKinds>,
    /// Names that make something run later, and why.
    pub runs_later: BTreeMap<PathBuf, &'static str>,
    /// Each touched name that makes something run later, with the name that is told of it.
    pub(super) told_as: BTreeMap<PathBuf, PathBuf>,
    /// The command set the time of a directory to another moment than its own.
    pub sets_times: bool,
    /// Bytes of the old versions or of the new ones, whichever are more.
    pub bytes: u64,
}

impl Layer {
    /// Reads the layer and judges its names.
    pub fn report(&self, judge: &NameJudge, bounds: LayerBounds) -> io::Result<LayerReport> {
        let mut touched: BTreeMap<PathBuf, TouchedKinds> = BTreeMap::new();
        let mut bytes = (0, 0);
        let (mut runs_later, mut told_as) = (BTreeMap::new(), BTreeMap::new());
        // A whole directory that goes leaves nothing behind that could run.
        let mut gone = PathBuf::new();
        let plan = self.plan(bounds, &mut |node| {
            let kind = node.after.or(node.before).map(|facts| facts.kind);
            let is_gone = node.after.is_none() && is_inside(node.path, &gone);
            let is_directory = |facts: &NodeFacts| facts.kind == NodeKind::Directory;
            let stays = [node.before, node.after].map(|facts| facts.is_some_and(is_directory));
            let later = match kind.filter(|_| !is_gone) {
                Some(_) if stays == [true, true] => judge.opens_later(node.path),
                Some(kind) => judge.runs_later(node.path, kind),
                None => None,
            };
            if let Some((part, why)) = later {
                told_as.insert(node.path.to_owned(), part.clone());
                runs_later.insert(part, why);
            }
            if node.after.is_none() && !is_gone && kind == Some(NodeKind::Directory) {
                node.path.clone_into(&mut gone);
            }
            bytes.0 += node.before.map_or(0, |facts| facts.size);
            bytes.1 += node.after.map_or(0, |facts| facts.size);
            if touched.len() < MOST_NAMED {
                let kinds = touched.entry(node.path.to_owned()).or_default();
                kinds.before = kinds.before.or(node.before.map(|facts| facts.kind));
                kinds.after = kinds.after.or(node.after.map(|facts| facts.kind));
            }
        })?;
        let is_set = |step: &LayerStep| match (step.work, &step.before, &step.after) {
            (LayerWork::Attributes, Some(before), Some(after)) => {
                after.modified != before.modified && after.modified < self.marker
            }
            _ => false,
        };
        let sets_times = plan.steps.iter().any(is_set);
        let bytes = bytes.0.max(bytes.1);
        Ok(LayerReport { plan, touched, runs_later, told_as, sets_times, bytes })
    }

    /// The content of a file as the workspace has it; `None` for anything else, and for a larger one.
    pub fn read_beneath(&self, path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
        read_file(&self.lower, path, most)
    }

    /// The content of a file as the layer has it.
    pub fn read_above(&self, path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
        read_file(&self.upper, path, most)
    }
}

impl LayerReport {
    /// Tells whether there is nothing to decide. The time of a directory alone is no change: making and
    /// removing a temporary file changes it.
    pub fn is_empty(&self) -> bool {
        let plan = &self.plan;
        plan.conflicts.is_empty()
            && plan.refused.is_empty()
            && !self.sets_times
            && plan.steps.iter().all(|step| change_of(step).is_none())
    }

    /// The steps that a person is shown, with the number of names inside where a directory comes or
    /// goes whole.
    pub fn shown(&self) -> impl Iterator<Item = (&LayerStep, NodeChange, usize)> {
        self.plan.steps.iter().filter_map(|step| {
            let change = change_of(step)?;
            let below = self.touched.range::<Path, _>((
                std::ops::Bound::Excluded(step.path.as_path()),
                std::ops::Bound::Unbounded,
            ));
            let below = below.take_while(|(path, _)| path.starts_with(&step.path)).count();
            Some((step, change, below))
        })
    }
}

fn is_inside(path: &Path, directory: &Path) -> bool {
    !directory.as_os_str().is_empty() && path != directory && path.starts_with(directory)
}

impl LayerStep {
    /// Tells whether a directory that stays gets other attributes than a time.
    pub fn sets_attributes(&self) -> bool {
        self.work == LayerWork::Attributes && change_of(self).is_some()
    }
}

pub(super) fn change_of(step: &LayerStep) -> Option<NodeChange> {
    match step.work {
        LayerWork::Create => Some(NodeChange::Created),
        LayerWork::Replace => Some(NodeChange::Changed),
        LayerWork::Delete => Some(NodeChange::Deleted),
        LayerWork::Attributes => {
            let (before, after) = (step.before.as_ref()?, step.after.as_ref()?);
            let is_same = after.has_attributes_of(before) && step.extended.is_none();
            (!is_same).then_some(NodeChange::Changed)
        }
    }
}

pub(super) fn read_file(root: &OwnedFd, path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = match open_beneath(root, path, flags, Mode::empty()) {
        Err(Errno::LOOP | Errno::NXIO | Errno::NOENT) => return Ok(None),
        opened => opened?,
    };
    let found = rustix::fs::fstat(&opened)?;
    let is_file = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile;
    if !is_file || u64::try_from(found.st_size).unwrap_or(0) > most {
        return Ok(None);
    }
    let mut content = Vec::new();
    let read = File::from(opened).take(most).read_to_end(&mut content);
    read.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    Ok(Some(content))
}
