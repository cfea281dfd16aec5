//! Changes of others since a layer was kept or taken back, told by change times (`st_ctime`).
//!
//! Law: a change time cannot be set back, so what is older than the note that was written after the last
//! exchange is what the exchange left, but for names that it left alone, which are on a list. Nothing else is read but
//! directories.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fd::OwnedFd;
use rustix::fs::{self, AtFlags, Mode, OFlags, Timespec, Timestamps};
use rustix::io::{self, Errno};

use super::keep::StepState;
use super::node::{NodeFacts, NodeKind, NodeTime};
use super::place::parent_of;
use super::step::{LayerStep, LayerWork};
use super::{Layer, open_directory_at};
use crate::file::OpenDirectory;

/// The note that is touched when all steps are done, beside the old versions.
const SETTLED: &str = "settled";
/// The names that an exchange left alone, each with a NUL behind it, beside the old versions.
const LEFT_ALONE: &str = "left-alone";
/// Shorter than a step of the clock that files get their times from.
const CLOCK_STEP: Duration = Duration::from_micros(500);

/// A node at or in a step's name that changed after the last exchange of its layer.
#[derive(Debug, Clone, Copy)]
pub struct ChangedNode<'a> {
    /// Relative to the root.
    pub path: &'a Path,
    /// The node that stands there.
    pub here: &'a NodeFacts,
    /// The node that the exchange left, where its step says that.
    pub left: Option<&'a NodeFacts>,
    /// The note of the exchange.
    pub since: NodeTime,
}

/// Tells whether a change is this program's own.
pub type IsOwnChange<'a> = &'a dyn Fn(ChangedNode<'_>) -> bool;

impl Layer {
    /// Remembers the moment: one that is later than every exchange, so that whatever has its time or a later one
    /// is another change. The clock of files moves in steps of some milliseconds.
    pub(super) fn note_settled(&self) -> io::Result<()> {
        let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let note = fs::openat(&self.attic, SETTLED, flags, Mode::RUSR | Mode::WUSR)?;
        let touch = || {
            let now = Timespec { tv_sec: 0, tv_nsec: fs::UTIME_NOW };
            fs::futimens(&note, &Timestamps { last_access: now, last_modification: now })?;
            Ok(NodeTime::changed(&fs::fstat(&note)?))
        };
        let exchanged = touch()?;
        while touch()? <= exchanged {
            std::thread::sleep(CLOCK_STEP);
        }
        Ok(())
    }

    /// The time of the note: later than the last exchange, earlier than every change after it.
    pub fn settled(&self) -> io::Result<Option<NodeTime>> {
        match fs::statat(&self.attic, SETTLED, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(Some(NodeTime::changed(&found))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Says if somebody changed what a step left at its name, or anything inside it. `side` is the side on which
    /// the layer is; a step that is on the other one already is not changed.
    pub fn is_changed_since(&self, step: &LayerStep, side: StepState) -> io::Result<bool> {
        self.is_changed_by_others(step, side, &|_| false)
    }

    /// The same but for changes that are this program's own.
    pub fn is_changed_by_others(
        &self,
        step: &LayerStep,
        side: StepState,
        is_own: IsOwnChange<'_>,
    ) -> io::Result<bool> {
        if step.work == LayerWork::Attributes {
            return self.are_attributes_foreign(step);
        }
        match self.state(step)? {
            StepState::Foreign => return Ok(true),
            state if state != side => return Ok(false),
            StepState::Done | StepState::NotDone => {}
        }
        let Some(here) = self.beneath(&step.path)? else { return Ok(false) };
        if self.left_alone()?.contains(&step.path) {
            return Ok(true);
        }
        let Some(since) = self.settled()? else { return Ok(false) };
        let left = if side == StepState::Done { &step.after } else { &step.before };
        let (path, left) = (step.path.as_path(), left.as_ref());
        if here.changed >= since && !is_own(ChangedNode { path, here: &here, left, since }) {
            return Ok(true);
        }
        match here.kind {
            NodeKind::Directory => match self.directory(path) {
                Err(Errno::ACCESS) => Ok(false),
                opened => is_newer_inside((&opened?, path), since, is_own),
            },
            _ => Ok(false),
        }
    }

    /// Says if anything in a directory of the workspace was changed since the layer was made.
    pub(super) fn is_newer_than_layer(&self, directory: &OwnedFd) -> io::Result<bool> {
        is_newer_inside((directory, Path::new("")), self.marker, &|_| false)
    }

    /// Remembers names that the next exchange leaves alone, because somebody changed them. The note of that exchange
    /// will be later than their change.
    pub fn leave_alone(&self, paths: &[PathBuf]) -> io::Result<()> {
        let mut all = self.left_alone()?;
        all.extend(paths.iter().cloned());
        self.write_left_alone(&all)
    }

    /// Forgets the names that an exchange has reached.
    pub(super) fn reached(&self, steps: &[LayerStep]) -> io::Result<()> {
        let mut all = self.left_alone()?;
        if all.is_empty() {
            return Ok(());
        }
        all.retain(|path| !steps.iter().any(|step| step.path == *path));
        self.write_left_alone(&all)
    }

    fn left_alone(&self) -> io::Result<BTreeSet<PathBuf>> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let list = match fs::openat(&self.attic, LEFT_ALONE, flags, Mode::empty()) {
            Ok(list) => File::from(list),
            Err(Errno::NOENT) => return Ok(BTreeSet::new()),
            Err(error) => return Err(error),
        };
        let mut bytes = Vec::new();
        (&list).read_to_end(&mut bytes).map_err(errno)?;
        let names = bytes.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        Ok(names.map(|name| PathBuf::from(OsStr::from_bytes(name))).collect())
    }

    fn write_left_alone(&self, all: &BTreeSet<PathBuf>) -> io::Result<()> {
        let new = format!("{LEFT_ALONE}.new");
        let flags =
            OFlags::CREATE | OFlags::TRUNC | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let list = File::from(fs::openat(&self.attic, &new, flags, Mode::RUSR | Mode::WUSR)?);
        for path in all {
            (&list).write_all(path.as_os_str().as_bytes()).map_err(errno)?;
            (&list).write_all(&[0]).map_err(errno)?;
        }
        list.sync_data().map_err(errno)?;
        fs::renameat(&self.attic, &new, &self.attic, LEFT_ALONE)
    }

    /// The steps with what stands at their names now as what the layer left there, on the side where it is: for names
    /// that are to be exchanged all the same. What stands there goes where the layer's own version would have gone, and
    /// what an earlier exchange put there comes back.
    pub fn as_it_stands(
        &self,
        steps: &[LayerStep],
        side: StepState,
        is_wanted: &dyn Fn(&LayerStep) -> bool,
    ) -> io::Result<Vec<LayerStep>> {
        let now = |step: &LayerStep| {
            if step.work == LayerWork::Attributes {
                let is_foreign = is_wanted(step) && self.are_attributes_foreign(step)?;
                let is_here = is_foreign && self.state(step)? != StepState::Foreign;
                return if is_here {
                    self.with_attributes_here(step, side)
                } else {
                    Ok(step.clone())
                };
            }
            let mut step = step.clone();
            match (step.work, self.state(&step)?) {
                (_, StepState::Foreign) if is_wanted(&step) => {
                    self.take_over(&mut step, side)?;
                }
                (LayerWork::Create, StepState::Done) if side == StepState::Done => {
                    step.before = self.put_aside(&step)?;
                }
                _ => {}
            }
            if step.work == LayerWork::Create && step.before.is_some() {
                step.work = LayerWork::Replace;
            }
            Ok(step)
        };
        steps.iter().map(now).collect()
    }

    fn take_over(&self, step: &mut LayerStep, side: StepState) -> io::Result<()> {
        let left = if side == StepState::Done { &mut step.after } else { &mut step.before };
        *left = self.beneath(&step.path)?;
        Ok(())
    }

    /// The node in the layer at the name of something that it made: somebody else's, from an exchange by force.
    fn put_aside(&self, step: &LayerStep) -> io::Result<Option<NodeFacts>> {
        let Some(name) = step.path.file_name() else { return Ok(None) };
        match parent_of(&self.upper, &step.path) {
            Ok(parent) => NodeFacts::at(parent, name),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Says why no step can be done at a name, if the directory around it cannot be opened without following a link.
    pub fn why_barred(&self, path: &Path) -> Option<String> {
        match parent_of(&self.lower, path) {
            Ok(_) => None,
            Err(Errno::NOENT) => Some("its directory is gone".to_owned()),
            Err(Errno::NOTDIR) => Some("its directory is a file".to_owned()),
            Err(Errno::LOOP) => Some("its directory is a link".to_owned()),
            Err(error) => Some(error.to_string()),
        }
    }

    /// Paths at which somebody else's node or a directory's attributes of somebody else stand: no step can be done there,
    /// in no direction.
    pub fn foreign(&self, steps: &[LayerStep]) -> io::Result<Vec<PathBuf>> {
        let mut all = Vec::new();
        for step in steps {
            let is_foreign = self.state(step)? == StepState::Foreign;
            let is_attributes = step.work == LayerWork::Attributes;
            if is_foreign || (is_attributes && self.are_attributes_foreign(step)?) {
                all.push(step.path.clone());
            }
        }
        Ok(all)
    }
}

fn errno(error: std::io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}

/// Says if anything in a directory was changed at a time or later.
fn is_newer_inside(
    (directory, path): (&OwnedFd, &Path),
    since: NodeTime,
    is_own: IsOwnChange<'_>,
) -> io::Result<bool> {
    for name in OpenDirectory::names_in(directory)? {
        let here = match NodeFacts::at(directory, &name) {
            // Listed and not searched: as below.
            Err(Errno::ACCESS) => return Ok(false),
            here => here?,
        };
        let Some(here) = here else { continue };
        let path = path.join(&name);
        let node = ChangedNode { path: &path, here: &here, left: None, since };
        if here.changed >= since && !is_own(node) {
            return Ok(true);
        }
        if here.kind != NodeKind::Directory {
            continue;
        }
        // One that cannot be listed was not changed inside by somebody without more rights than ours.
        let Ok(inner) = open_directory_at(directory, Path::new(&name)) else { continue };
        if is_newer_inside((&inner, &path), since, is_own)? {
            return Ok(true);
        }
    }
    Ok(false)
}
