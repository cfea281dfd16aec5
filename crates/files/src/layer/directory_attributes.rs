//! Attributes of a directory that stays, set by a step: mode, owner and extended attributes (`fsetxattr`).
//!
//! Law: only what the step changes is set, and only where it is as one of the two sides of the step left it. What
//! somebody else set stays.

use std::path::Path;

use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{self, Gid, Uid, XattrFlags};
use rustix::io::{self, Errno};

use super::Layer;
use super::directory_guard::OpenedDirectory;
use super::keep::{Direction, StepState};
use super::node::{ExtendedAttributes, NodeFacts, attributes, set_modified};
use super::step::{ExtendedChange, LayerStep};

impl ExtendedChange {
    /// The names whose values differ, each with the value before and the value after.
    fn values(&self) -> impl Iterator<Item = (&[u8], [Option<&[u8]>; 2])> {
        let only_before = |name: &[u8]| value_of(&self.after, name).is_none();
        let before = self.before.iter().map(|(name, _)| name.as_slice());
        let names = before.filter(move |name| only_before(name));
        let after = self.after.iter().map(|(name, _)| name.as_slice());
        let both = |name| (name, [value_of(&self.before, name), value_of(&self.after, name)]);
        names.chain(after).map(both).filter(|(_, [before, after])| before != after)
    }

    /// Says if the values that change are those after it.
    pub(super) fn is_done(&self, now: &ExtendedAttributes) -> bool {
        self.values().all(|(name, [_, after])| value_of(now, name) == after)
    }

    fn is_foreign(&self, now: &ExtendedAttributes) -> bool {
        self.values().any(|(name, sides)| !sides.contains(&value_of(now, name)))
    }
}

fn value_of<'a>(all: &'a ExtendedAttributes, name: &[u8]) -> Option<&'a [u8]> {
    let found = all.iter().find(|(other, _)| other == name);
    found.map(|(_, value)| value.as_slice())
}

/// The attributes of a directory of the workspace, compared with the two sides of a step.
enum Standing {
    /// Those of the one side or of the other, or some of each.
    Ours,
    /// Somebody changed attributes that the step leaves alone.
    Beside,
    /// Somebody changed attributes that the step changes.
    Foreign,
}

impl Layer {
    /// Gives the real directory the attributes and the time of one side of a step. `STALE` where somebody else changed
    /// the same attributes; the time stays where they changed any.
    pub(super) fn set_attributes(&self, step: &LayerStep, direction: Direction) -> io::Result<()> {
        let (Some(before), Some(after)) = (&step.before, &step.after) else { return Ok(()) };
        let to = if direction == Direction::In { after } else { before };
        let mut real = self.opened_directory(&step.path)?;
        let standing = standing(&real, step, (before, after))?;
        let is_beside = match standing {
            Standing::Ours => false,
            Standing::Beside => true,
            Standing::Foreign => return Err(Errno::STALE),
        };
        if let Some(change) = &step.extended {
            real.widen()?;
            set_extended(real.as_fd(), change, direction)?;
        }
        let now = NodeFacts::of(&fs::fstat(&real)?);
        let is_owned = (now.owner, now.group) == (to.owner, to.group);
        let is_given = (before.owner, before.group) != (after.owner, after.group) && !is_owned;
        let mode = if before.mode == after.mode { real.mode()? } else { to.mode };
        if is_given {
            fs::fchown(&real, Some(Uid::from_raw(to.owner)), Some(Gid::from_raw(to.group)))?;
        }
        if !is_beside {
            set_modified(&real, to.modified)?;
        }
        // Last, because another owner takes bits of it away.
        if is_given || before.mode != after.mode { real.leave_as(mode) } else { Ok(()) }
    }

    /// Says if somebody changed attributes of a directory that a step changes, or another node stands there.
    pub(super) fn are_attributes_foreign(&self, step: &LayerStep) -> io::Result<bool> {
        let (true, Some(before), Some(after)) =
            (step.changes_attributes(), &step.before, &step.after)
        else {
            return Ok(false);
        };
        let here = self.beneath(&step.path)?;
        if here.map(|here| here.inode) != Some(before.inode) {
            return Ok(true);
        }
        let standing = standing(&self.opened_directory(&step.path)?, step, (before, after))?;
        Ok(matches!(standing, Standing::Foreign))
    }

    /// The step with the attributes that stand there now as those of one of its sides.
    pub(super) fn with_attributes_here(
        &self,
        step: &LayerStep,
        side: StepState,
    ) -> io::Result<LayerStep> {
        let real = self.opened_directory(&step.path)?;
        let now = NodeFacts::of(&fs::fstat(&real)?);
        let mut step = step.clone();
        let is_after = side == StepState::Done;
        if let Some(facts) = if is_after { &mut step.after } else { &mut step.before } {
            (facts.mode, facts.owner, facts.group) = (real.mode()?, now.owner, now.group);
        }
        if let Some(change) = &mut step.extended {
            let values = if is_after { &mut change.after } else { &mut change.before };
            *values = attributes(real.as_fd())?;
        }
        Ok(step)
    }

    pub(super) fn opened_directory(&self, path: &Path) -> io::Result<OpenedDirectory> {
        OpenedDirectory::beneath(&self.lower, path)
    }
}

fn standing(
    real: &OpenedDirectory,
    step: &LayerStep,
    (before, after): (&NodeFacts, &NodeFacts),
) -> io::Result<Standing> {
    let now = NodeFacts { mode: real.mode()?, ..NodeFacts::of(&fs::fstat(real)?) };
    let owner = |facts: &NodeFacts| (facts.owner, facts.group);
    let is_mode = [before.mode, after.mode].contains(&now.mode);
    let is_owner = [owner(before), owner(after)].contains(&owner(&now));
    let is_extended = match &step.extended {
        Some(change) => !change.is_foreign(&attributes(real.as_fd())?),
        None => true,
    };
    let changes_mode = before.mode != after.mode;
    let changes_owner = owner(before) != owner(after);
    Ok(match (is_mode, is_owner, is_extended) {
        (true, true, true) => Standing::Ours,
        (_, _, false) => Standing::Foreign,
        (false, _, _) if changes_mode => Standing::Foreign,
        (_, false, _) if changes_owner => Standing::Foreign,
        _ => Standing::Beside,
    })
}

/// Sets the values that a step changes, and leaves the others.
fn set_extended(
    of: BorrowedFd<'_>,
    change: &ExtendedChange,
    direction: Direction,
) -> io::Result<()> {
    for (name, [before, after]) in change.values() {
        match if direction == Direction::In { after } else { before } {
            Some(value) => fs::fsetxattr(of, name, value, XattrFlags::empty())?,
            None => match fs::fremovexattr(of, name) {
                Err(Errno::NODATA) => {}
                removed => removed?,
            },
        }
    }
    Ok(())
}
