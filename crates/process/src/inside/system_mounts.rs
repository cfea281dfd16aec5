//! `/dev` and `/proc` of a command: devices that every program expects, a `devpts` and a `procfs` of its own.

use std::io::Result;
use std::path::Path;

use jm_types::ignore_error;
use rustix::fd::OwnedFd;
use rustix::fs::CWD;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsconfig_set_string, fsmount,
    fsopen,
};

use super::mount_calls::{
    MountDepth, MountPiece, MountShape, MountSource, attach, change, clone_of, mount_at, nothing,
    tmpfs,
};

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

/// Devices of the machine, taken before anything is covered. One that is missing is left out.
pub(super) fn open_devices() -> Vec<(&'static str, OwnedFd)> {
    DEVICES.iter().filter_map(|name| Some((*name, device(name).ok()?))).collect()
}

fn device(name: &str) -> Result<OwnedFd> {
    let tree = clone_of(CWD, Path::new("/dev").join(name))?;
    let only = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    change(&tree, only, MountDepth::Alone)?;
    Ok(tree)
}

pub(super) fn build_dev(root: &OwnedFd, devices: Vec<(&str, OwnedFd)>) -> Result<()> {
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
pub(super) fn terminals() -> Result<OwnedFd> {
    let terminals = fsopen("devpts", FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (key, value) in [("ptmxmode", "0666"), ("mode", "0620")] {
        fsconfig_set_string(&terminals, key, value)?;
    }
    fsconfig_create(&terminals)?;
    let only = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    Ok(fsmount(&terminals, FsMountFlags::FSMOUNT_CLOEXEC, only)?)
}

pub(super) fn build_proc(root: &OwnedFd) -> Result<()> {
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
