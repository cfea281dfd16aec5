//! The file tree that a command sees, mounted (`open_tree`, `move_mount`, `mount_setattr`).
//!
//! Law: everything is taken by descriptor before anything is covered, attached without following
//! links, and what stays behind is detached. The tree's own root cannot be written.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::{Error, Result};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags, UnmountFlags,
    fsconfig_create, fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen, mount_change,
    move_mount, unmount,
};

use super::layer;
use super::mount_calls::{
    MountDepth, MountPiece, MountShape, MountSource, attach, change, clone_itself, clone_of,
    clone_within, mount_at, mount_on, nothing, open_beneath, tmpfs,
};
use super::standby::StandbyMounts;
use super::step::{During, LaunchStep, StepFailure};
use super::system_mounts::{build_dev, build_proc, open_devices, terminals};
use crate::contract::confinement_rules::{ConfinementRules, LayerPlace};
use crate::contract::layout::{Layout, MountKind};
use crate::contract::mount_table::{mount_points, read_mount_table};
use crate::contract::within::is_within;

pub(crate) fn build(rules: &ConfinementRules, layout: &Layout) -> LaunchStep<()> {
    be_private().during("mounts")?;
    let points = mounted_inside(rules);
    let direct = layer::direct_trees(rules)?;
    let root = build_outside(rules, layout, |layer| on_layer(layer).map(Some))?;
    attach_all_inside(&root, rules, inside(rules, layout), &direct, points.as_deref())?;
    seal(&root).during("mount /")?;
    leave().during("mount /")
}

/// Builds the same but for what only an order tells: the layer, and the names inside the workspace. What is needed for
/// the layer stands by in the new tree, and nothing else of the old one is held.
pub(super) fn build_ahead(rules: &ConfinementRules, layout: &Layout) -> LaunchStep<OwnedFd> {
    be_private().during("mounts")?;
    let standby = StandbyMounts::take(rules).during("mount the workspace")?;
    let root = build_outside(rules, layout, |_| Ok(None))?;
    standby.put(&root).during("mount the workspace")?;
    leave().during("mount /")?;
    Ok(root)
}

/// Adds what was missing, once there is an order.
pub(super) fn complete_ahead(
    root: &OwnedFd,
    rules: &ConfinementRules,
    layout: &Layout,
) -> LaunchStep<()> {
    let layer = rules.layer.iter();
    for layer in layer {
        let step = format!("mount {}", layer.root.path.display());
        let overlay = StandbyMounts::overlay(root, layer).during(step.clone())?;
        attach(root, workspace_piece(layer, overlay)).during(step)?;
    }
    // An overlay shows no mount of what lies beneath it.
    attach_all_inside(root, rules, inside(rules, layout), &[], Some(&[]))?;
    seal(root).during("mount /")
}

fn be_private() -> rustix::io::Result<()> {
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
}

/// Mounts everything that lies outside directories that the command may write, and those themselves; `held` gives
/// the one that is on a layer.
fn build_outside(
    rules: &ConfinementRules,
    layout: &Layout,
    held: impl Fn(&LayerPlace) -> Result<Option<MountPiece>>,
) -> LaunchStep<OwnedFd> {
    let mut pieces = Vec::new();
    for (path, place) in layout.iter().filter(|(path, _)| !is_inside(path, rules)) {
        let step = || format!("mount {}", path.display());
        let made = match &rules.layer {
            Some(layer) if layer.root.path == *path => held(layer),
            _ => piece(path.clone(), *place),
        };
        pieces.extend(made.map_err(|error| StepFailure { step: step(), error })?);
    }
    let devices = open_devices();
    let root = tmpfs("0755").during("mount /")?;
    enter(&root).during("mount /")?;
    // Before the rest, because a workspace may lie in shared memory.
    build_dev(&root, devices).during("mount /dev")?;
    build_proc(&root).during("mount /proc")?;
    for piece in in_memory(&root, pieces).during("mount caches")? {
        let step = format!("mount {}", piece.path.display());
        attach(&root, piece).during(step)?;
    }
    Ok(root)
}

/// The names of a layout that lie inside directories that the command may write.
fn inside<'a>(rules: &ConfinementRules, layout: &'a Layout) -> Vec<(&'a Path, MountKind)> {
    let names = layout.iter().filter(|(path, _)| is_inside(path, rules));
    names.map(|(path, place)| (path.as_path(), *place)).collect()
}

/// The new tree's own root cannot be written any more.
fn seal(root: &OwnedFd) -> Result<()> {
    change(root, MountAttrFlags::MOUNT_ATTR_RDONLY, MountDepth::Alone)
}

/// Tells whether a path lies below a directory that the command may write: others who write there may
/// exchange it at any moment.
pub(crate) fn is_inside(path: &Path, rules: &ConfinementRules) -> bool {
    rules.writable.iter().any(|root| path != root && is_within(path, root))
}

/// Completes a tree in which another program mounted everything but the names inside the workspace
/// and the terminals.
pub(crate) fn complete(rules: &ConfinementRules, layout: &Layout) -> LaunchStep<()> {
    let root = open_root().during("mount /")?;
    let points = mounted_inside(rules);
    terminals()
        .and_then(|tree| mount_at(&root, Path::new("dev/pts"), &tree))
        .during("mount /dev")?;
    attach_all_inside(&root, rules, inside(rules, layout), &[], points.as_deref())
}

/// Mount points below directories that the command may write, before any of ours. `None` where the
/// kernel does not tell.
pub(super) fn mounted_inside(rules: &ConfinementRules) -> Option<Vec<PathBuf>> {
    let table = read_mount_table().ok()?;
    Some(mount_points(&table).filter(|point| is_inside(point, rules)).collect())
}

fn attach_all_inside(
    root: &OwnedFd,
    rules: &ConfinementRules,
    inside: Vec<(&Path, MountKind)>,
    direct: &[(PathBuf, OwnedFd)],
    points: Option<&[PathBuf]>,
) -> LaunchStep<()> {
    // Looking for mounts to copy along takes as long as there are mounts, which we make many of.
    let is_alone = |path: &Path| {
        points.is_some_and(|points| !points.iter().any(|point| is_within(point, path)))
    };
    let all = rules.identities.iter();
    let known: HashMap<&OsStr, (u64, u64)> =
        all.map(|one| (one.path.as_os_str(), (one.device, one.inode))).collect();
    for (path, place) in inside {
        if let Some((_, tree)) = direct.iter().find(|(name, _)| name == path) {
            let below = path.strip_prefix("/").unwrap_or(path);
            mount_at(root, below, tree).during(format!("mount {}", path.display()))?;
            // A stricter rule about the same name is carried out on the directory itself.
            if place == MountKind::Writable {
                continue;
            }
        }
        let expected = known.get(path.as_os_str()).copied();
        // An overlay shows the inodes of what lies beneath it, and a device of its own.
        let is_real = !rules.is_on_layer(path);
        let expected = expected.map(|(device, inode)| (is_real.then_some(device), inode));
        let depth = if is_alone(path) { MountDepth::Alone } else { MountDepth::All };
        attach_inside(root, path, place, depth, expected)
            .map_err(|error| StepFailure { step: format!("mount {}", path.display()), error })?;
    }
    Ok(())
}

/// Covers a name of the workspace, or mounts it on itself. One descriptor is the source and the
/// target of the mount, opened beneath the new root without links, so nothing that another process
/// exchanges meanwhile can lead outside.
pub(crate) fn attach_inside(
    root: &OwnedFd,
    path: &Path,
    place: MountKind,
    depth: MountDepth,
    expected: Option<(Option<u64>, u64)>,
) -> Result<()> {
    let below = path.strip_prefix("/").unwrap_or(path);
    let target = match open_beneath(root, below) {
        Ok(target) => target,
        // A directory that is only held for what it holds, or a placeholder that could not be made.
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) if expected.is_none() => {
            return Ok(());
        }
        Err(_) => return Err(moved(path)),
    };
    let found = rustix::fs::fstat(&target)?;
    let is_other = |(device, inode): (Option<u64>, u64)| {
        inode != found.st_ino || device.is_some_and(|device| device != found.st_dev)
    };
    if expected.is_some_and(is_other) {
        return Err(moved(path));
    }
    let kind = rustix::fs::FileType::from_raw_mode(found.st_mode);
    let shape = if kind.is_dir() { MountShape::Directory } else { MountShape::File };
    let tree = match place {
        MountKind::Hidden => nothing(shape)?,
        MountKind::Scratch => tmpfs(&format!("{:o}", found.st_mode & 0o7777))?,
        MountKind::Writable => clone_within(&target, depth)?,
        MountKind::Kept | MountKind::Readable | MountKind::Cached | MountKind::Data => {
            let tree = clone_within(&target, depth)?;
            change(&tree, MountAttrFlags::MOUNT_ATTR_RDONLY, depth)?;
            tree
        }
    };
    mount_on(&target, &tree)
}

pub(crate) fn open_root() -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open("/", flags, Mode::empty())
}

/// The error for a protected name that is gone or another file by now.
fn moved(path: &Path) -> Error {
    Error::other(format!(
        "{} was moved or replaced while the command was being started, and it is protected; \
         nothing ran, call again",
        path.display()
    ))
}

/// A workspace root as an overlay.
fn on_layer(layer: &LayerPlace) -> Result<MountPiece> {
    Ok(workspace_piece(layer, layer::overlay(layer)?))
}

fn workspace_piece(layer: &LayerPlace, overlay: OwnedFd) -> MountPiece {
    let what = MountSource::Tree(overlay, MountShape::Directory);
    MountPiece { path: layer.root.path.clone(), what }
}

fn piece(path: PathBuf, place: MountKind) -> Result<Option<MountPiece>> {
    let plain = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    if path.parent() == Some(Path::new("/"))
        && let Ok(target) = std::fs::read_link(&path)
    {
        return Ok(Some(MountPiece { path, what: MountSource::Link(target) }));
    }
    let link = path.symlink_metadata().is_ok_and(|found| found.is_symlink());
    let shape = match std::fs::metadata(&path) {
        // A link is held itself, wherever it leads.
        _ if link && matches!(place, MountKind::Kept | MountKind::Hidden) => MountShape::File,
        Ok(found) if found.is_dir() => MountShape::Directory,
        Ok(_) => MountShape::File,
        // The system may lack one of the usual directories; a hidden name may be gone by now.
        Err(_) if place == MountKind::Scratch => MountShape::Directory,
        Err(_) => return Ok(None),
    };
    let tree = match place {
        MountKind::Scratch => {
            let mode = std::fs::metadata(&path).map_or(0o1777, |found| found.permissions().mode());
            tmpfs(&format!("{:o}", mode & 0o7777))?
        }
        MountKind::Hidden => {
            return Ok(Some(MountPiece { path, what: MountSource::Nothing(shape) }));
        }
        MountKind::Writable => {
            let tree = clone_of(CWD, &path)?;
            change(&tree, plain, MountDepth::All)?;
            tree
        }
        MountKind::Cached if shape == MountShape::Directory => {
            let tree = clone_of(CWD, &path)?;
            change(&tree, plain | MountAttrFlags::MOUNT_ATTR_RDONLY, MountDepth::All)?;
            let mode = Mode::from_raw_mode(std::fs::metadata(&path)?.permissions().mode());
            return Ok(Some(MountPiece { path, what: MountSource::Cache(tree, mode) }));
        }
        MountKind::Readable | MountKind::Cached | MountKind::Kept | MountKind::Data => {
            let tree =
                if place == MountKind::Kept { clone_itself(&path)? } else { clone_of(CWD, &path)? };
            let sealed = if place == MountKind::Data {
                MountAttrFlags::MOUNT_ATTR_RDONLY | MountAttrFlags::MOUNT_ATTR_NOEXEC
            } else {
                MountAttrFlags::MOUNT_ATTR_RDONLY
            };
            change(&tree, plain | sealed, MountDepth::All)?;
            tree
        }
    };
    Ok(Some(MountPiece { path, what: MountSource::Tree(tree, shape) }))
}

/// Mounts the new root somewhere, whatever that covers, and goes there.
fn enter(root: &OwnedFd) -> Result<()> {
    let cover = ["/tmp", "/mnt", "/usr", "/"].into_iter().find(|path| Path::new(path).is_dir());
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    move_mount(root, "", CWD, cover.unwrap_or("/"), flags)?;
    Ok(rustix::process::fchdir(root)?)
}

/// The old tree goes away, with all that was not taken along.
fn leave() -> Result<()> {
    rustix::process::pivot_root(".", ".")?;
    unmount(".", UnmountFlags::DETACH)?;
    Ok(rustix::process::chdir("/")?)
}

/// The directory in which the parts of mounts in memory are made.
const WORKSHOP: &str = ".workshop";

/// Caches as they are, whose changes land in memory and vanish with the command. With a kernel that
/// knows no such mounts for us nothing is written there.
fn in_memory(root: &OwnedFd, pieces: Vec<MountPiece>) -> Result<Vec<MountPiece>> {
    if !pieces.iter().any(|piece| matches!(piece.what, MountSource::Cache(..))) {
        return Ok(pieces);
    }
    rustix::fs::mkdirat(root, WORKSHOP, Mode::RWXU)?;
    mount_at(root, Path::new(WORKSHOP), &tmpfs("0700")?)?;
    let settle = |(number, MountPiece { path, what })| match what {
        MountSource::Cache(tree, mode) => match layered(root, number, &tree, mode) {
            Ok(tree) => MountPiece { path, what: MountSource::Tree(tree, MountShape::Directory) },
            Err(_) => MountPiece { path, what: MountSource::Cache(tree, mode) },
        },
        what @ (MountSource::Tree(..) | MountSource::Nothing(_) | MountSource::Link(_)) => {
            MountPiece { path, what }
        }
    };
    let settled = pieces.into_iter().enumerate().map(settle).collect();
    // The new mounts hold what they need of it.
    unmount(WORKSHOP, UnmountFlags::DETACH)?;
    rustix::fs::unlinkat(root, WORKSHOP, AtFlags::REMOVEDIR)?;
    Ok(settled)
}

fn layered(root: &OwnedFd, number: usize, tree: &OwnedFd, mode: Mode) -> Result<OwnedFd> {
    let at = |name: &str| format!("{WORKSHOP}/{number}-{name}");
    for name in ["lower", "upper", "work"] {
        rustix::fs::mkdirat(root, at(name), Mode::RWXU)?;
    }
    // The directory's own mode is taken from the upper one.
    rustix::fs::chmodat(root, at("upper"), mode, AtFlags::empty())?;
    mount_at(root, Path::new(&at("lower")), &clone_of(tree, "")?)?;
    let fs = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    for name in ["lower", "upper", "work"] {
        // Names from where we are, which is the new root.
        fsconfig_set_string(&fs, format!("{name}dir"), at(name))?;
    }
    fsconfig_set_flag(&fs, "userxattr")?;
    fsconfig_create(&fs)?;
    let plain = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    Ok(fsmount(&fs, FsMountFlags::FSMOUNT_CLOEXEC, plain)?)
}
