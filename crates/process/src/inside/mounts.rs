//! The file tree that a command sees, mounted (`open_tree`, `move_mount`, `mount_setattr`).
//!
//! Law: everything is taken by descriptor before anything is covered, attached without following
//! links, and what stays behind is detached. The tree's own root cannot be written.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::{Error, Result};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use jm_types::ignore_error;
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags,
    OpenTreeFlags, UnmountFlags, fsconfig_create, fsconfig_set_flag, fsconfig_set_string, fsmount,
    fsopen, mount_change, move_mount, open_tree, unmount,
};

use super::layer;
use super::step::{During, LaunchStep, StepFailure};
use crate::contract::confinement_rules::{ConfinementRules, LayerPlace};
use crate::contract::layout::{Layout, MountKind};
use crate::contract::within::is_within;

pub(crate) const DEVICES: &[&str] = &["null", "zero", "full", "random", "urandom", "tty"];
pub(crate) const DEVICE_LINKS: &[(&str, &str)] = &[
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
];
/// Of `/proc` what speaks of the machine rather than of its processes.
const PROC_READ_ONLY: &[&str] = &["sys", "sysrq-trigger", "irq", "bus", "fs"];
const PROC_HIDDEN: &[&str] = &["kcore", "keys", "key-users", "timer_list", "kallsyms"];

/// Something to be mounted.
struct MountPiece {
    path: PathBuf,
    what: MountSource,
}

enum MountSource {
    Tree(OwnedFd, MountShape),
    /// A read-only directory, and the mode of its own.
    Cache(OwnedFd, Mode),
    Nothing(MountShape),
    Link(PathBuf),
}

#[derive(Clone, Copy, PartialEq)]
enum MountShape {
    Directory,
    File,
}

pub(crate) fn build(rules: &ConfinementRules, layout: &Layout) -> LaunchStep<()> {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).during("mounts")?;
    let mut pieces = Vec::new();
    let mut inside = Vec::new();
    for (path, place) in layout {
        if is_inside(path, rules) {
            inside.push((path.as_path(), *place));
            continue;
        }
        let step = || format!("mount {}", path.display());
        let made = match &rules.layer {
            Some(layer) if layer.root.path == *path => on_layer(layer).map(Some),
            _ => piece(path.clone(), *place),
        };
        pieces.extend(made.map_err(|error| StepFailure { step: step(), error })?);
    }
    let devices: Vec<(&str, OwnedFd)> =
        DEVICES.iter().filter_map(|name| Some((*name, device(name).ok()?))).collect();
    let root = tmpfs("0755").during("mount /")?;
    enter(&root).during("mount /")?;
    // Before the rest, because a workspace may lie in shared memory.
    build_dev(&root, devices).during("mount /dev")?;
    build_proc(&root).during("mount /proc")?;
    for piece in in_memory(&root, pieces).during("mount caches")? {
        let step = format!("mount {}", piece.path.display());
        attach(&root, piece).during(step)?;
    }
    attach_all_inside(&root, rules, inside)?;
    change(&root, MountAttrFlags::MOUNT_ATTR_RDONLY, MountDepth::Alone).during("mount /")?;
    leave().during("mount /")
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
    terminals()
        .and_then(|tree| mount_at(&root, Path::new("dev/pts"), &tree))
        .during("mount /dev")?;
    let inside = layout.iter().filter(|(path, _)| is_inside(path, rules));
    attach_all_inside(&root, rules, inside.map(|(path, place)| (path.as_path(), *place)).collect())
}

fn attach_all_inside(
    root: &OwnedFd,
    rules: &ConfinementRules,
    inside: Vec<(&Path, MountKind)>,
) -> LaunchStep<()> {
    let all = rules.identities.iter();
    let known: HashMap<&OsStr, (u64, u64)> =
        all.map(|one| (one.path.as_os_str(), (one.device, one.inode))).collect();
    for (path, place) in inside {
        let expected = known.get(path.as_os_str()).copied();
        // An overlay shows the inodes of what lies beneath it, and a device of its own.
        let is_real = !rules.is_on_layer(path);
        let expected = expected.map(|(device, inode)| (is_real.then_some(device), inode));
        attach_inside(root, path, place, expected)
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
        MountKind::Writable => clone_of(&target, "")?,
        MountKind::Kept | MountKind::Readable | MountKind::Cached | MountKind::Data => {
            let tree = clone_of(&target, "")?;
            change(&tree, MountAttrFlags::MOUNT_ATTR_RDONLY, MountDepth::All)?;
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

/// A device on a mount that allows none: a file that no process can open.
const NO_FILE: &str = "/dev/null";

/// An unreadable cover for a hidden name.
fn nothing(shape: MountShape) -> Result<OwnedFd> {
    let tree = match shape {
        MountShape::File => clone_of(CWD, NO_FILE)?,
        MountShape::Directory => tmpfs("0000")?,
    };
    let closed = MountAttrFlags::MOUNT_ATTR_RDONLY | MountAttrFlags::MOUNT_ATTR_NODEV;
    change(&tree, closed, MountDepth::Alone)?;
    Ok(tree)
}

/// A workspace root as an overlay.
fn on_layer(layer: &LayerPlace) -> Result<MountPiece> {
    let what = MountSource::Tree(layer::overlay(layer)?, MountShape::Directory);
    Ok(MountPiece { path: layer.root.path.clone(), what })
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

const CLONE: OpenTreeFlags = OpenTreeFlags::OPEN_TREE_CLONE
    .union(OpenTreeFlags::OPEN_TREE_CLOEXEC)
    .union(OpenTreeFlags::AT_RECURSIVE)
    .union(OpenTreeFlags::AT_EMPTY_PATH);

/// A detached copy of a mounted tree.
fn clone_of(at: impl AsFd, path: impl rustix::path::Arg) -> Result<OwnedFd> {
    Ok(open_tree(at, path, CLONE)?)
}

/// The same of a link, not of what it leads to: mounted on itself it can be followed, and neither
/// removed nor replaced.
fn clone_itself(path: &Path) -> Result<OwnedFd> {
    Ok(open_tree(CWD, path, CLONE | OpenTreeFlags::AT_SYMLINK_NOFOLLOW)?)
}

fn tmpfs(mode: &str) -> Result<OwnedFd> {
    let fs = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(&fs, "mode", mode)?;
    // Of memory, which is what it takes.
    fsconfig_set_string(&fs, "size", "25%")?;
    fsconfig_create(&fs)?;
    let plain = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    Ok(fsmount(&fs, FsMountFlags::FSMOUNT_CLOEXEC, plain)?)
}

#[derive(Clone, Copy)]
enum MountDepth {
    Alone,
    All,
}

/// Adds attributes to a mount, or to all mounts of a tree.
#[allow(unsafe_code)]
fn change(tree: &OwnedFd, set: MountAttrFlags, depth: MountDepth) -> Result<()> {
    #[repr(C)]
    struct Attributes {
        set: u64,
        clear: u64,
        propagation: u64,
        user_namespace: u64,
    }
    let attributes =
        Attributes { set: u64::from(set.bits()), clear: 0, propagation: 0, user_namespace: 0 };
    let recursive = match depth {
        MountDepth::Alone => 0,
        MountDepth::All => libc::AT_RECURSIVE,
    };
    // SAFETY: the path is an empty C string, the structure has the layout and size that the kernel
    // expects, and both outlive the call, which writes to neither.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | recursive,
            &attributes,
            size_of::<Attributes>(),
        )
    };
    if answer == 0 { Ok(()) } else { Err(Error::last_os_error()) }
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

fn attach(root: &OwnedFd, piece: MountPiece) -> Result<()> {
    let path = piece.path.strip_prefix("/").unwrap_or(&piece.path).to_owned();
    match piece.what {
        MountSource::Link(target) => Ok(rustix::fs::symlinkat(target, root, &path)?),
        MountSource::Nothing(shape) => mount_at(root, &path, &nothing(shape)?),
        MountSource::Tree(tree, shape) => {
            make_room(root, &path, shape)?;
            mount_at(root, &path, &tree)
        }
        MountSource::Cache(tree, _) => {
            make_room(root, &path, MountShape::Directory)?;
            mount_at(root, &path, &tree)
        }
    }
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

/// Directories on the way to a mount, and something to mount on. Inside what is mounted already
/// they exist.
fn make_room(root: &OwnedFd, path: &Path, shape: MountShape) -> Result<()> {
    let mut folders: Vec<&Path> = path.ancestors().filter(|p| !p.as_os_str().is_empty()).collect();
    folders.reverse();
    let last = if shape == MountShape::File { folders.pop() } else { None };
    for folder in folders {
        match rustix::fs::mkdirat(root, folder, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(rustix::io::Errno::EXIST | rustix::io::Errno::ROFS) => {}
            Err(error) => return Err(error.into()),
        }
    }
    if let Some(file) = last {
        let regular = rustix::fs::FileType::RegularFile;
        // Made, never opened: if it is there it may be a FIFO, and can be covered all the same.
        match rustix::fs::mknodat(root, file, regular, Mode::from_raw_mode(0o600), 0) {
            Ok(()) | Err(rustix::io::Errno::EXIST | rustix::io::Errno::ROFS) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn mount_at(root: &OwnedFd, path: &Path, tree: &OwnedFd) -> Result<()> {
    mount_on(&open_beneath(root, path)?, tree)
}

/// `openat2` with `O_PATH`: no link on the way is followed, nor one at the end.
pub(crate) fn open_beneath(root: impl AsFd, path: &Path) -> rustix::io::Result<OwnedFd> {
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS | ResolveFlags::BENEATH;
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    rustix::fs::openat2(root, path, flags, Mode::empty(), resolve)
}

fn mount_on(target: &OwnedFd, tree: &OwnedFd) -> Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    Ok(move_mount(tree, "", target, "", flags)?)
}

fn device(name: &str) -> Result<OwnedFd> {
    let tree = clone_of(CWD, Path::new("/dev").join(name))?;
    let only = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    change(&tree, only, MountDepth::Alone)?;
    Ok(tree)
}

fn build_dev(root: &OwnedFd, devices: Vec<(&str, OwnedFd)>) -> Result<()> {
    let place = |path: &str, tree: OwnedFd, shape| {
        attach(root, MountPiece { path: path.into(), what: MountSource::Tree(tree, shape) })
    };
    place("/dev", tmpfs("0755")?, MountShape::Directory)?;
    for (name, tree) in devices {
        place(&format!("/dev/{name}"), tree, MountShape::File)?;
    }
    for (name, target) in DEVICE_LINKS {
        rustix::fs::symlinkat(*target, root, format!("dev/{name}"))?;
    }
    place("/dev/shm", tmpfs("1777")?, MountShape::Directory)?;
    place("/dev/pts", terminals()?, MountShape::Directory)
}

/// A `devpts` of the command's own.
fn terminals() -> Result<OwnedFd> {
    let terminals = fsopen("devpts", FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (key, value) in [("ptmxmode", "0666"), ("mode", "0620")] {
        fsconfig_set_string(&terminals, key, value)?;
    }
    fsconfig_create(&terminals)?;
    let only = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    Ok(fsmount(&terminals, FsMountFlags::FSMOUNT_CLOEXEC, only)?)
}

fn build_proc(root: &OwnedFd) -> Result<()> {
    let fs = fsopen("proc", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&fs)?;
    let only = MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    let proc = fsmount(&fs, FsMountFlags::FSMOUNT_CLOEXEC, only)?;
    attach(
        root,
        MountPiece { path: "/proc".into(), what: MountSource::Tree(proc, MountShape::Directory) },
    )?;
    limit_processes();
    let is_there = |name: &&&str| Path::new("proc").join(name).exists();
    for name in PROC_READ_ONLY.iter().filter(is_there) {
        let path = Path::new("proc").join(name);
        let tree = clone_of(CWD, &path)?;
        change(&tree, MountAttrFlags::MOUNT_ATTR_RDONLY, MountDepth::All)?;
        mount_at(root, &path, &tree)?;
    }
    for name in PROC_HIDDEN.iter().filter(is_there) {
        mount_at(root, &Path::new("proc").join(name), &nothing(MountShape::File)?)?;
    }
    Ok(())
}

/// Limits process numbers: where the kernel counts them for each namespace, a superuser's are limited too.
fn limit_processes() {
    const MOST_NUMBERS: &str = "8192";
    ignore_error(
        std::fs::write("proc/sys/kernel/pid_max", MOST_NUMBERS),
        "an older kernel refuses, and then the resource limit is what there is",
    );
}
