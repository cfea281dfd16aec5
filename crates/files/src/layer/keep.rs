//! Keeping a layer and taking it back: names are exchanged, so both versions exist at every moment.
//!
//! Law: all steps or none. The steps are on record before the first of them; after a crash the inode at each
//! name says if its step was done. Nothing is removed: what goes lies in the layer until the layer goes.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use jm_system::fault::crash_point;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs;
use rustix::io::{self, Errno};
use thiserror::Error;

use super::node::{NodeFacts, NodeKind, attributes};
use super::place::{Place, as_errno, parent_of};
use super::sanitize_node::sanitize_node;
use super::step::{LayerStep, LayerWork};
use super::{Layer, open_directory_at};

/// Writes the steps down before the first of them.
pub trait KeepLog {
    /// Makes the steps durable before the first name changes; an error stops the keeping.
    fn prepared(&mut self, steps: &[LayerStep]) -> Result<(), String>;
}

/// Writes nothing down, for layers that no journal knows.
#[derive(Debug)]
pub struct NoKeepLog;

impl KeepLog for NoKeepLog {
    fn prepared(&mut self, _: &[LayerStep]) -> Result<(), String> {
        Ok(())
    }
}

/// Why a layer was not kept, or not taken back. The workspace is as it was.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "each variant's message says it")]
pub enum KeepError {
    #[error("{}: another program changed it meanwhile", path.display())]
    Changed { path: PathBuf },
    #[error("it could not be recorded: {0}")]
    Unrecorded(String),
    #[error("{}: {error}", path.display())]
    System { path: PathBuf, error: Errno },
    /// The worst case: a step failed, and so did the way back of some others.
    #[error("{}: {error}; {} could not be put back", path.display(), listed(stuck))]
    Stuck { path: PathBuf, error: Errno, stuck: Vec<PathBuf> },
}

fn listed(paths: &[PathBuf]) -> String {
    let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    names.join(", ")
}

/// How far one step has come, told by the inode at its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepState {
    /// The name is as before the step.
    NotDone,
    /// The name is as after the step.
    Done,
    /// Somebody else's node stands there.
    Foreign,
}

impl Layer {
    /// Carries out all steps, or none.
    pub fn keep(&self, steps: &[LayerStep], log: &mut dyn KeepLog) -> Result<(), KeepError> {
        for step in steps {
            self.clean(step).map_err(|error| system(&step.path, error))?;
        }
        crash_point("layer.cleaned");
        self.sync().map_err(|error| system(Path::new(""), error))?;
        crash_point("layer.synced");
        log.prepared(steps).map_err(KeepError::Unrecorded)?;
        crash_point("layer.prepared");
        self.go(steps, Direction::In, Knowledge::Plan)
    }

    /// Carries out what is left of the steps, or takes back what was done, after a crash.
    pub fn converge(&self, steps: &[LayerStep], to: StepState) -> Result<(), KeepError> {
        let direction = if to == StepState::Done { Direction::In } else { Direction::Out };
        self.go(steps, direction, Knowledge::Inodes)
    }

    /// The inode at a step's name says if it was done.
    pub fn state(&self, step: &LayerStep) -> io::Result<StepState> {
        self.state_with(step, self.beneath(&step.path)?.as_ref())
    }

    /// The same by the node at that name.
    fn state_with(&self, step: &LayerStep, here: Option<&NodeFacts>) -> io::Result<StepState> {
        let inode = |facts: Option<&NodeFacts>| facts.map(|facts| facts.inode);
        let (before, after) = (inode(step.before.as_ref()), inode(step.after.as_ref()));
        let now = inode(here);
        Ok(match step.work {
            LayerWork::Attributes if now != before => StepState::Foreign,
            LayerWork::Attributes => match (here, &step.after) {
                (Some(here), Some(after))
                    if looks_like(here, after) && self.has_extended(step)? =>
                {
                    StepState::Done
                }
                _ => StepState::NotDone,
            },
            LayerWork::Delete if now.is_none() && after.is_none() && self.is_in_attic(step) => {
                StepState::Done
            }
            _ if now == before && now != after => StepState::NotDone,
            _ if now == after => StepState::Done,
            LayerWork::Create | LayerWork::Replace | LayerWork::Delete => StepState::Foreign,
        })
    }

    fn has_extended(&self, step: &LayerStep) -> io::Result<bool> {
        let Some(change) = &step.extended else { return Ok(true) };
        Ok(change.is_done(&attributes(self.opened_directory(&step.path)?.as_fd())?))
    }

    fn is_in_attic(&self, step: &LayerStep) -> bool {
        NodeFacts::at(&self.attic, &attic_name(step)).is_ok_and(|found| found.is_some())
    }

    /// The node that stands at a path of the workspace now.
    pub(super) fn beneath(&self, path: &Path) -> io::Result<Option<NodeFacts>> {
        let Some(name) = path.file_name() else {
            return Ok(Some(NodeFacts::of(&fs::fstat(&self.lower)?)));
        };
        match parent_of(&self.lower, path) {
            Ok(parent) => NodeFacts::at(parent, name),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn go(
        &self,
        steps: &[LayerStep],
        direction: Direction,
        known: Knowledge,
    ) -> Result<(), KeepError> {
        let wanted = direction.goal();
        let mut order: Vec<usize> = (0..steps.len()).collect();
        if direction == Direction::Out {
            order.reverse();
        }
        let mut done = Vec::new();
        for number in order {
            let step = &steps[number];
            let outcome = match self.at(step, known) {
                Ok((state, _)) if state == wanted => continue,
                // Its time goes with the directory.
                Ok((StepState::Foreign, _)) if is_time_only(step) => continue,
                Ok((StepState::Foreign, _)) => Err(Errno::STALE),
                Ok((_, real)) => self.carry_out(step, real, direction),
                Err(error) => Err(error),
            };
            crash_point("layer.step");
            match outcome {
                Ok(()) => done.push(number),
                Err(error) => return Err(self.go_back(steps, &done, direction, (number, error))),
            }
        }
        if direction == Direction::Out {
            let restored = self.restore_attributes(steps, |_| true);
            restored.map_err(|(path, error)| system(path, error))?;
        }
        let noted = self.note_settled().and_then(|()| self.reached(steps));
        noted.map_err(|error| system(Path::new(""), error))?;
        crash_point("layer.exchanged");
        self.sync().map_err(|error| system(Path::new(""), error))?;
        crash_point("layer.settled");
        Ok(())
    }

    /// How far a step has come, and its name in its directory, opened once for both.
    fn at(&self, step: &LayerStep, known: Knowledge) -> io::Result<(StepState, Option<Place>)> {
        match Place::beneath(&self.lower, &step.path) {
            Ok(real) => {
                let here = real.node()?;
                let state = self.state_with(step, here.as_ref())?;
                let is_planned = match known {
                    Knowledge::Plan if state == StepState::NotDone => {
                        self.is_as_planned(step, &real, here.as_ref())?
                    }
                    Knowledge::Plan | Knowledge::Inodes => true,
                };
                Ok((if is_planned { state } else { StepState::Foreign }, Some(real)))
            }
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::INVAL) => {
                Ok((self.state(step)?, None))
            }
            Err(error) => Err(error),
        }
    }

    /// Says if a node that goes is as the plan found it, and so is all that is in it.
    fn is_as_planned(
        &self,
        step: &LayerStep,
        real: &Place,
        here: Option<&NodeFacts>,
    ) -> io::Result<bool> {
        let goes = matches!(step.work, LayerWork::Replace | LayerWork::Delete);
        let (true, Some(planned), Some(here)) = (goes, &step.before, here) else {
            return Ok(true);
        };
        if (planned.size, planned.modified) != (here.size, here.modified) {
            return Ok(false);
        }
        if planned.kind != NodeKind::Directory {
            // The step of another name of the same file changes the time of this one too.
            return Ok(planned.changed == here.changed || planned.names > 1);
        }
        match open_directory_at(&real.parent, &real.name) {
            Err(Errno::ACCESS) => Ok(planned.changed == here.changed),
            opened => {
                let is_newer = self.is_newer_than_layer(&opened?)?;
                Ok(planned.changed == here.changed && !is_newer)
            }
        }
    }

    fn go_back(
        &self,
        steps: &[LayerStep],
        done: &[usize],
        direction: Direction,
        (failed, error): (usize, Errno),
    ) -> KeepError {
        let back = direction.reverse();
        let stuck: Vec<PathBuf> = done
            .iter()
            .rev()
            .filter(|number| self.carry_out(&steps[**number], None, back).is_err())
            .map(|number| steps[*number].path.clone())
            .collect();
        if direction == Direction::In {
            // Only of directories in which something was done: others may have changed the rest meanwhile.
            let touched = |step: &LayerStep| {
                let mut paths = done.iter().map(|number| steps[*number].path.as_path());
                paths.any(|path| path == step.path || path.parent() == Some(&step.path))
            };
            jm_types::ignore_error(
                self.restore_attributes(steps, touched).map_err(|(_, error)| error),
                "a directory that shows when it was touched has lost nothing",
            );
        }
        let path = steps[failed].path.clone();
        match (stuck.is_empty(), error) {
            (false, error) => KeepError::Stuck { path, error, stuck },
            (true, Errno::STALE | Errno::EXIST) => KeepError::Changed { path },
            (true, error) => KeepError::System { path, error },
        }
    }

    /// Gives directories the attributes from before once more: the steps after them changed the times. What somebody else
    /// changed in that moment stays.
    fn restore_attributes<'a>(
        &self,
        steps: &'a [LayerStep],
        wanted: impl Fn(&LayerStep) -> bool,
    ) -> Result<(), (&'a Path, Errno)> {
        let all = steps.iter().filter(|step| step.work == LayerWork::Attributes);
        for step in all.filter(|step| wanted(step)) {
            match self.set_attributes(step, Direction::Out) {
                Err(Errno::STALE | Errno::NOENT | Errno::NOTDIR) => {}
                set => set.map_err(|error| (step.path.as_path(), error))?,
            }
        }
        Ok(())
    }

    /// Does a step at its name, which is looked up where it is not known.
    fn carry_out(
        &self,
        step: &LayerStep,
        real: Option<Place>,
        direction: Direction,
    ) -> io::Result<()> {
        if step.work == LayerWork::Attributes {
            return self.set_attributes(step, direction);
        }
        let real = real.map_or_else(|| Place::beneath(&self.lower, &step.path), Ok)?;
        let aside = match step.work {
            LayerWork::Delete => {
                let parent = self.attic.try_clone().map_err(as_errno)?;
                Place { parent: parent.into(), name: attic_name(step) }
            }
            LayerWork::Create | LayerWork::Replace | LayerWork::Attributes => {
                Place::beneath(&self.upper, &step.path)?
            }
        };
        let (here, next) = match direction {
            Direction::In => (&step.before, &step.after),
            Direction::Out => (&step.after, &step.before),
        };
        match (here, next) {
            (None, _) => aside.move_to(&real),
            (Some(_), None) => {
                let seen = real.node()?;
                real.move_to(&aside)?;
                aside.must_be(here.as_ref(), seen.as_ref(), || aside.move_to(&real))
            }
            (Some(_), Some(_)) => {
                let seen = real.node()?;
                real.exchange_with(&aside)?;
                aside.must_be(here.as_ref(), seen.as_ref(), || real.exchange_with(&aside))
            }
        }
    }

    /// Opens a directory of the workspace.
    pub(super) fn directory(&self, path: &Path) -> io::Result<OwnedFd> {
        match path.file_name() {
            None => open_directory_at(&self.lower, "."),
            Some(name) => open_directory_at(parent_of(&self.lower, path)?, name),
        }
    }

    /// Makes what will be moved in fit for the workspace: no marks, no devices, no set-id bits.
    fn clean(&self, step: &LayerStep) -> io::Result<()> {
        let (LayerWork::Create | LayerWork::Replace, Some(name)) =
            (step.work, step.path.file_name())
        else {
            return Ok(());
        };
        let parent = parent_of(&self.upper, &step.path)?;
        sanitize_node(&parent, name)
    }

    fn sync(&self) -> io::Result<()> {
        fs::syncfs(&self.upper)?;
        if self.is_on_one_file_system()? { Ok(()) } else { fs::syncfs(&self.lower) }
    }
}

/// The way of a step: to the layer's version of a name, or back to the workspace's own.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    In,
    Out,
}

/// The knowledge of the nodes that go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Knowledge {
    /// They are as the plan found them a moment ago.
    Plan,
    /// Their inodes: names were exchanged since the plan, which changes times.
    Inodes,
}

impl Direction {
    fn goal(self) -> StepState {
        match self {
            Direction::In => StepState::Done,
            Direction::Out => StepState::NotDone,
        }
    }

    fn reverse(self) -> Self {
        match self {
            Direction::In => Direction::Out,
            Direction::Out => Direction::In,
        }
    }
}

fn is_time_only(step: &LayerStep) -> bool {
    step.work == LayerWork::Attributes && !step.changes_attributes()
}

fn looks_like(here: &NodeFacts, after: &NodeFacts) -> bool {
    here.has_attributes_of(after) && here.modified == after.modified
}

pub(super) fn attic_name(step: &LayerStep) -> OsString {
    format!("{:08}", step.number).into()
}

fn system(path: &Path, error: Errno) -> KeepError {
    KeepError::System { path: path.to_owned(), error }
}
