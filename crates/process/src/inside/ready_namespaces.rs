//! Namespaces and a file tree for the next command, made while a launcher waits for its order.
//!
//! Law: they serve only a command whose tree outside the workspace is the expected one, name by name and inode by
//! inode; for any other command they are ended, and it gets its own. Names of the workspace, and the layer, come with
//! the order. Until then no other program runs in them.

use std::fs::Metadata;
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::fd::OwnedFd;
use rustix::process::Pid;
use rustix::thread::CapabilitySet;

use super::first_process::{die_with_parent, end, run_inside, start_first};
use super::name_guard::NameGuard;
use super::order::receive_order;
use super::step::{During, LaunchStep};
use super::{loopback, mounts};
use crate::contract::confinement_rules::ConfinementRules;
use crate::contract::descriptors::{high_numbered_copy, send_descriptors};
use crate::contract::layout::{Layout, MountKind, mount_layout};
use crate::contract::message::send;
use crate::contract::protocol::{LaunchOrder, LaunchStage, given};

/// A first process that has built its tree, or is about to.
pub(super) struct ReadyNamespaces {
    forecast: ConfinementRules,
    names: Vec<OutsideName>,
    first: Pid,
    /// Says that the tree is built; takes the order.
    line: UnixStream,
}

/// A name of the command's tree outside the workspace, and the file that it was.
#[derive(PartialEq, Eq)]
struct OutsideName {
    path: PathBuf,
    kind: MountKind,
    /// Device and inode, of the name itself and of what it leads to.
    identity: [Option<(u64, u64)>; 2],
}

impl ReadyNamespaces {
    pub(super) fn make(forecast: ConfinementRules, rights: CapabilitySet) -> LaunchStep<Self> {
        let layout = mount_layout(&forecast);
        let names = outside_names(&forecast, &layout);
        let (ours, theirs) = line().during("socket")?;
        let mut ours = Some(ours);
        let first = start_first(libc::CLONE_NEWNET, || {
            // So that the end of the launcher outside is the end of the line.
            drop(ours.take());
            wait_inside(&forecast, &layout, rights, theirs)
        })?;
        let line = ours.ok_or(ErrorKind::BrokenPipe).map_err(Error::from).during("socket")?;
        Ok(Self { forecast, names, first, line })
    }

    /// Hands the order over; `None` where the namespaces are not for it, and then they are gone.
    pub(super) fn take_order(self, order: &LaunchOrder) -> Option<Pid> {
        let Self { first, line, .. } = &self;
        if self.fits(order) && self.is_built() && hand_over(line, order).is_ok() {
            return Some(*first);
        }
        end(*first);
        None
    }

    fn fits(&self, order: &LaunchOrder) -> bool {
        let rules = &order.rules;
        let (Some(expected), Some(layer)) = (&self.forecast.layer, &rules.layer) else {
            return false;
        };
        order.stage == LaunchStage::Outside
            && rules.backend == self.forecast.backend
            && rules.network.is_own()
            && !order.joins_loopback()
            && layer.root == expected.root
            && layer.home() == expected.home()
            && layer.direct.is_empty()
            && mounts::mounted_inside(rules).is_some_and(|points| points.is_empty())
            && outside_names(rules, &mount_layout(rules)) == self.names
    }

    /// Waits until the tree is built; `false` if it could not be.
    fn is_built(&self) -> bool {
        rustix::io::read(&self.line, &mut [0_u8; 1][..]).is_ok_and(|count| count == 1)
    }
}

/// Both ends under numbers that mean nothing to a launcher.
fn line() -> Result<(UnixStream, OwnedFd)> {
    let (ours, theirs) = UnixStream::pair()?;
    Ok((high_numbered_copy(&ours)?.into(), high_numbered_copy(&theirs)?))
}

fn hand_over(line: &UnixStream, order: &LaunchOrder) -> Result<()> {
    let descriptors: Vec<_> = order.numbers.iter().map(|number| given(*number)).collect();
    send_descriptors(line, &descriptors)?;
    send(line, order)
}

/// The first process: builds the tree, waits for the order, and runs it.
fn wait_inside(
    forecast: &ConfinementRules,
    layout: &Layout,
    rights: CapabilitySet,
    line: OwnedFd,
) -> i32 {
    let line = UnixStream::from(line);
    // Without a word the launcher outside reads the end of the line, and builds anew.
    let Ok(root) = die_with_parent().and_then(|()| build(forecast, layout)) else { return 1 };
    let order =
        rustix::io::write(&line, b"r").map_err(Into::into).and_then(|_| receive_order(&line));
    let Ok(order) = order else { return 1 };
    drop(line);
    let layout = mount_layout(&order.rules);
    let built = mounts::complete_ahead(&root, &order.rules, &layout)
        .and_then(|()| NameGuard::new(&order.rules, &layout).during("protected names"));
    drop(root);
    run_inside(&order, rights, built)
}

fn build(forecast: &ConfinementRules, layout: &Layout) -> LaunchStep<OwnedFd> {
    let root = mounts::build_ahead(forecast, layout)?;
    loopback::raise().during("loopback")?;
    high_numbered_copy(&root).during("mount /")
}

fn outside_names(rules: &ConfinementRules, layout: &Layout) -> Vec<OutsideName> {
    let outside = layout.iter().filter(|(path, _)| !mounts::is_inside(path, rules));
    let named = |(path, kind): &(PathBuf, MountKind)| OutsideName {
        path: path.clone(),
        kind: *kind,
        identity: match kind {
            // Made anew for each command.
            MountKind::Scratch => [None, None],
            _ => identity(path),
        },
    };
    outside.map(named).collect()
}

fn identity(path: &Path) -> [Option<(u64, u64)>; 2] {
    let numbers = |found: Metadata| (found.dev(), found.ino());
    match path.symlink_metadata().ok() {
        Some(link) if link.is_symlink() => [Some(numbers(link)), path.metadata().ok().map(numbers)],
        itself => [itself.map(numbers); 2],
    }
}
