//! The workspace root as an overlay (`fsopen`, `userxattr`), for a command that runs on a layer.
//!
//! Law: the directories are opened in the namespace that mounts them, without following links, and
//! each must be the one that was meant. The mount is told descriptors and no paths, so its options
//! say nothing about the place of the layer.

use std::io::{Error, Result};
use std::path::{Path, PathBuf};

use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, StatVfsMountFlags};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsconfig_set_flag,
    fsconfig_set_string, fsmount, fsopen,
};

use rustix::io::Errno;

use super::mount_calls::{MountDepth, change, clone_within, open_beneath};
use super::step::{During, LaunchStep};
use crate::contract::confinement_rules::{ConfinementRules, FileIdentity, LayerPlace};

const PLAIN: MountAttrFlags =
    MountAttrFlags::MOUNT_ATTR_NOSUID.union(MountAttrFlags::MOUNT_ATTR_NODEV);

/// Mounts the overlay; it is attached nowhere yet.
pub(crate) fn overlay(place: &LayerPlace) -> Result<OwnedFd> {
    let open = |known: &FileIdentity| must_be(open_directory(&known.path)?, known);
    mount_overlay(&open(&place.root)?, &open(&place.upper)?, &open(&place.work)?)
}

/// Copies of the mounts of directories that the command changes directly, in their order.
pub(crate) fn direct_trees(rules: &ConfinementRules) -> LaunchStep<Vec<(PathBuf, OwnedFd)>> {
    let tree = |known: &FileIdentity| -> Result<(PathBuf, OwnedFd)> {
        let tree = clone_within(&must_be(open_directory(&known.path)?, known)?, MountDepth::All)?;
        change(&tree, PLAIN, MountDepth::All)?;
        Ok((known.path.clone(), tree))
    };
    let step = |known: &FileIdentity| format!("mount {}", known.path.display());
    rules.direct().iter().map(|known| tree(known).during(step(known))).collect()
}

/// The same by copies of two mounts: of the workspace's root, and of the directory that holds the layers.
pub(crate) fn overlay_within(
    place: &LayerPlace,
    ground: OwnedFd,
    layers: &OwnedFd,
) -> Result<OwnedFd> {
    let open = |known: &FileIdentity| {
        let home = place.home().ok_or(Errno::INVAL)?;
        let name = known.path.strip_prefix(home).map_err(|_| Errno::INVAL)?;
        must_be(open_beneath(layers, name)?, known)
    };
    mount_overlay(&must_be(ground, &place.root)?, &open(&place.upper)?, &open(&place.work)?)
}

fn mount_overlay(lower: &OwnedFd, upper: &OwnedFd, work: &OwnedFd) -> Result<OwnedFd> {
    let overlay = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (key, directory) in [("lowerdir", lower), ("upperdir", upper), ("workdir", work)] {
        fsconfig_set_string(&overlay, key, format!("/proc/self/fd/{}", directory.as_raw_fd()))?;
    }
    // Marks that an ordinary user may write.
    fsconfig_set_flag(&overlay, "userxattr")?;
    // Inode numbers as they are beneath: git would read every file again.
    fsconfig_set_string(&overlay, "xino", "off")?;
    // Without it the end of each command would sync the whole file system.
    fsconfig_set_flag(&overlay, "volatile")?;
    fsconfig_create(&overlay)?;
    Ok(fsmount(&overlay, FsMountFlags::FSMOUNT_CLOEXEC, attributes(lower)?)?)
}

/// An overlay inherits nothing from the mount beneath it.
fn attributes(lower: &OwnedFd) -> Result<MountAttrFlags> {
    let beneath = rustix::fs::fstatvfs(lower)?.f_flag;
    if beneath.contains(StatVfsMountFlags::NOEXEC) {
        Ok(PLAIN | MountAttrFlags::MOUNT_ATTR_NOEXEC)
    } else {
        Ok(PLAIN)
    }
}

fn must_be(opened: OwnedFd, known: &FileIdentity) -> Result<OwnedFd> {
    let found = rustix::fs::fstat(&opened)?;
    if (found.st_dev, found.st_ino) == (known.device, known.inode) {
        return Ok(opened);
    }
    let path = known.path.display();
    Err(Error::other(format!("{path} was moved or replaced meanwhile; nothing ran, run it again")))
}

pub(super) fn open_directory(path: &Path) -> Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    Ok(rustix::fs::openat2(CWD, path, flags, Mode::empty(), resolve)?)
}
