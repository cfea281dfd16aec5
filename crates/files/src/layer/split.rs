//! Splitting a layer: the chosen names are moved to a layer of their own, by `renameat2` from one upper directory to the
//! other.
//!
//! Law: each node lies in the one layer or in the other at every moment, and nothing of either is in the workspace. Both
//! are read with the time of the one marker, so what changed beneath since the command began is found in both.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rustix::fs::{self, Mode};
use rustix::io::{self, Errno};

use super::Layer;
use super::directory_guard::OpenedDirectory;
use super::node::{NodeTime, dress_like, set_modified};
use super::place::{Place, parent_of};
use super::report::{LayerReport, change_of};
use super::selection::{Selection, Share};
use super::step::LayerWork;
use crate::file::OpenDirectory;

impl Layer {
    /// Moves the chosen names to a layer that was made for them.
    pub fn move_part(
        &self,
        report: &LayerReport,
        selection: &Selection,
        part: &Layer,
    ) -> io::Result<()> {
        self.remember_attributes()?;
        let mut split = Split { from: self, part, selection, directories: BTreeMap::new() };
        split.directory(Path::new(""))?;
        for step in &report.plan.steps {
            match step.work {
                LayerWork::Create | LayerWork::Replace | LayerWork::Delete => {
                    split.bring(&step.path)?;
                }
                LayerWork::Attributes if split.takes_attributes(&step.path) => {
                    split.directory(&step.path)?;
                }
                LayerWork::Attributes => {}
            }
        }
        let own = |path: &Path| {
            let mut steps = report.plan.steps.iter().filter(|step| step.path == path);
            steps.any(|step| step.work == LayerWork::Attributes && change_of(step).is_some())
        };
        split.dress(&own)
    }
}

struct Split<'a> {
    from: &'a Layer,
    part: &'a Layer,
    selection: &'a Selection,
    /// Directories that both layers have, and the time that the command left them.
    directories: BTreeMap<PathBuf, NodeTime>,
}

impl Split<'_> {
    fn takes_attributes(&self, path: &Path) -> bool {
        self.selection.chosen().contains(path)
    }

    /// Moves a node whole, or what is chosen of a directory.
    fn bring(&mut self, path: &Path) -> io::Result<()> {
        match self.selection.share(path) {
            Share::None => Ok(()),
            Share::All => {
                self.directory(path.parent().unwrap_or(Path::new("")))?;
                Place::beneath(&self.from.upper, path)?
                    .move_to(&Place::beneath(&self.part.upper, path)?)
            }
            Share::Some => {
                self.directory(path)?;
                let directory = OpenedDirectory::beneath(&self.from.upper, path)?;
                for name in OpenDirectory::names_in(&directory)? {
                    self.bring(&path.join(name))?;
                }
                Ok(())
            }
        }
    }

    /// Makes a directory of the part, and those around it, before anything is moved out of them.
    fn directory(&mut self, path: &Path) -> io::Result<()> {
        if self.directories.contains_key(path) {
            return Ok(());
        }
        if let (Some(parent), Some(name)) = (path.parent(), path.file_name()) {
            self.directory(parent)?;
            match fs::mkdirat(parent_of(&self.part.upper, path)?, name, Mode::RWXU) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error),
            }
        }
        let time =
            NodeTime::modified(&fs::fstat(OpenedDirectory::beneath(&self.from.upper, path)?)?);
        self.directories.insert(path.to_owned(), time);
        Ok(())
    }

    /// Gives the directories of the part what is theirs, from the inside out: that of the layer where they are new or it is
    /// chosen, that of the workspace otherwise; and both layers the time that the command left.
    fn dress(&self, is_changed: &dyn Fn(&Path) -> bool) -> io::Result<()> {
        for (path, time) in self.directories.iter().rev() {
            let above = OpenedDirectory::beneath(&self.from.upper, path)?;
            let target = OpenedDirectory::beneath(&self.part.upper, path)?;
            let beneath = match OpenedDirectory::beneath(&self.from.lower, path) {
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => None,
                opened => Some(opened?),
            };
            let takes = is_changed(path) && self.takes_attributes(path);
            let model = beneath.as_ref().filter(|_| !takes).unwrap_or(&above);
            dress_like(&target, model)?;
            set_modified(&target, *time)?;
            set_modified(&above, *time)?;
            target.leave_as(model.mode()?)?;
        }
        Ok(())
    }
}
