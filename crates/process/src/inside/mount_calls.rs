//! Single mounts by descriptor (`open_tree`, `move_mount`, `mount_setattr`, `fsmount`).
//!
//! Law: no link on the way to a mount is followed, nor one at its end.

use std::io::{Error, Result};
use std::path::{Path, PathBuf};

use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, OpenTreeFlags, fsconfig_create,
    fsconfig_set_string, fsmount, fsopen, move_mount, open_tree,
};

/// Something to be mounted.
pub(super) struct MountPiece {
    pub(super) path: PathBuf,
    pub(super) what: MountSource,
}

pub(super) enum MountSource {
    Tree(OwnedFd, MountShape),
    /// A read-only directory, and the mode of its own.
    Cache(OwnedFd, Mode),
    Nothing(MountShape),
    Link(PathBuf),
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum MountShape {
    Directory,
    File,
}

/// A device on a mount that allows none: a file that no process can open.
const NO_FILE: &str = "/dev/null";

/// An unreadable cover for a hidden name.
pub(super) fn nothing(shape: MountShape) -> Result<OwnedFd> {
    let tree = match shape {
        MountShape::File => clone_of(CWD, NO_FILE)?,
        MountShape::Directory => tmpfs("0000")?,
    };
    let closed = MountAttrFlags::MOUNT_ATTR_RDONLY | MountAttrFlags::MOUNT_ATTR_NODEV;
    change(&tree, closed, MountDepth::Alone)?;
    Ok(tree)
}

const CLONE: OpenTreeFlags = OpenTreeFlags::OPEN_TREE_CLONE
    .union(OpenTreeFlags::OPEN_TREE_CLOEXEC)
    .union(OpenTreeFlags::AT_RECURSIVE)
    .union(OpenTreeFlags::AT_EMPTY_PATH);

/// A detached copy of a mounted tree.
pub(super) fn clone_of(at: impl AsFd, path: impl rustix::path::Arg) -> Result<OwnedFd> {
    Ok(open_tree(at, path, CLONE)?)
}

/// The same of an open file or directory, with the mounts below it or without.
pub(super) fn clone_within(target: &OwnedFd, depth: MountDepth) -> Result<OwnedFd> {
    Ok(match depth {
        MountDepth::Alone => open_tree(target, "", CLONE.difference(OpenTreeFlags::AT_RECURSIVE))?,
        MountDepth::All => open_tree(target, "", CLONE)?,
    })
}

/// The same of a link, not of what it leads to: mounted on itself it can be followed, and neither
/// removed nor replaced.
pub(super) fn clone_itself(path: &Path) -> Result<OwnedFd> {
    Ok(open_tree(CWD, path, CLONE | OpenTreeFlags::AT_SYMLINK_NOFOLLOW)?)
}

pub(super) fn tmpfs(mode: &str) -> Result<OwnedFd> {
    let fs = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(&fs, "mode", mode)?;
    // Of memory, which is what it takes.
    fsconfig_set_string(&fs, "size", "25%")?;
    fsconfig_create(&fs)?;
    let plain = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    Ok(fsmount(&fs, FsMountFlags::FSMOUNT_CLOEXEC, plain)?)
}

#[derive(Clone, Copy)]
pub(crate) enum MountDepth {
    Alone,
    All,
}

/// Adds attributes to a mount, or to all mounts of a tree.
#[allow(unsafe_code)]
pub(super) fn change(tree: &OwnedFd, set: MountAttrFlags, depth: MountDepth) -> Result<()> {
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

pub(super) fn attach(root: &OwnedFd, piece: MountPiece) -> Result<()> {
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

pub(super) fn mount_at(root: &OwnedFd, path: &Path, tree: &OwnedFd) -> Result<()> {
    mount_on(&open_beneath(root, path)?, tree)
}

/// `openat2` with `O_PATH`: no link on the way is followed, nor one at the end.
pub(crate) fn open_beneath(root: impl AsFd, path: &Path) -> rustix::io::Result<OwnedFd> {
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS | ResolveFlags::BENEATH;
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    rustix::fs::openat2(root, path, flags, Mode::empty(), resolve)
}

pub(super) fn mount_on(target: &OwnedFd, tree: &OwnedFd) -> Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    Ok(move_mount(tree, "", target, "", flags)?)
}
