//! The probe for layers: can a command run on an overlay of this workspace, and could it be kept?
//!
//! Law: found out by doing it. What the kernel answers without a reason is looked for beforehand and
//! told in words.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use jm_system::folder::Descent;
use rustix::fs::{AtFlags, CWD, StatVfsMountFlags, StatxFlags};
use rustix::process::{getegid, geteuid};

use super::confiner::Confiner;
use super::probe::{Trial, try_rules};
use crate::contract::confinement_rules::{Backend, ConfinementRules};
use crate::contract::mount_table::{mount_points, read_mount_table};
use crate::outside::held::HeldLayers;
use crate::outside::launcher::Launcher;

/// Names beyond this number are not looked at for their owners; a command that meets one says so.
const MOST_ENTRIES: usize = 20_000;
const OVERLAY: u64 = 0x794c_7630;

/// The acts that an overlay on an unfit file system fails at, all of them in the layer.
const ACT: &str =
    "d=.jm-probe-$$ && mkdir \"$d\" && : > \"$d/a\" && mv \"$d/a\" \"$d/b\" && rm -r \"$d\"";

impl Confiner {
    /// Says why a command cannot run on a layer of this root, if it cannot.
    pub fn try_layer(&self, root: &Path, held: &HeldLayers) -> Result<(), String> {
        let Some(launcher) = self.launcher() else {
            return Err("commands have no launcher here".to_owned());
        };
        let tried = || look(root, held.path()).and_then(|()| act(launcher, root, held));
        // A command that ran on a layer ran in namespaces: one trial shows both.
        let outcome = self.is_to_choose().then(tried);
        if matches!(outcome, Some(Ok(()))) {
            self.choose_namespaces();
        }
        match self.backend() {
            Backend::Namespaces => outcome.unwrap_or_else(tried),
            other => Err(format!(
                "layers need the back end `namespaces`, and commands are confined by `{}`",
                other.name()
            )),
        }
    }
}

/// Reasons that can be seen.
fn look(root: &Path, held: &Path) -> Result<(), String> {
    if root.to_str().is_none() {
        return Err("the path of the workspace is not UTF-8".to_owned());
    }
    if held.starts_with(root) {
        return Err(format!(
            "the state directory lies inside the workspace ({}); name another with JM_STATE_DIR",
            held.display()
        ));
    }
    let flags =
        rustix::fs::statvfs(root).map_err(|error| format!("{}: {error}", root.display()))?;
    if flags.f_flag.contains(StatVfsMountFlags::RDONLY) {
        return Err("the workspace is mounted read-only".to_owned());
    }
    let mounts = read_mount_table().unwrap_or_default();
    if let Some(inner) = mounted_beneath(&mounts, root) {
        return Err(format!("another file system is mounted inside it, at {}", inner.display()));
    }
    if rustix::fs::statfs(held).is_ok_and(|found| found.f_type as u64 == OVERLAY) {
        return Err(format!(
            "the state directory {} lies on an overlay file system, which cannot hold a layer; name \
             another with JM_STATE_DIR",
            held.display()
        ));
    }
    if !is_one_mount(root, held) {
        return Err(format!(
            "the state directory {} is on another file system or mount than the workspace; name one \
             beside the workspace with JM_STATE_DIR",
            held.display()
        ));
    }
    match foreign(root) {
        Some(path) => Err(format!(
            "{} belongs to another user or group, which an overlay cannot copy",
            path.display()
        )),
        None => Ok(()),
    }
}

/// Names are exchanged between the two, which works within one mount of one file system.
fn is_one_mount(root: &Path, held: &Path) -> bool {
    let mount = |path: &Path| {
        let found = rustix::fs::statx(CWD, path, AtFlags::empty(), StatxFlags::MNT_ID).ok()?;
        Some((found.stx_mnt_id, found.stx_dev_major, found.stx_dev_minor))
    };
    mount(root).is_some_and(|one| Some(one) == mount(held))
}

/// The first mount point below a directory.
fn mounted_beneath(mountinfo: &[u8], root: &Path) -> Option<PathBuf> {
    mount_points(mountinfo).find(|point| point != root && point.starts_with(root))
}

/// A name below the root whose owner or group the command's user namespace does not know.
fn foreign(root: &Path) -> Option<PathBuf> {
    if geteuid().is_root() && maps_everyone() {
        return None;
    }
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    let mut descent = Descent::below(root);
    let mut left = MOST_ENTRIES;
    while let Some(entry) = descent.next() {
        let Ok(entry) = entry else { continue };
        let Ok(found) = entry.metadata() else { continue };
        if (found.uid(), found.gid()) != (user, group) {
            return Some(entry.path());
        }
        if found.is_dir() {
            descent.enter(&entry);
        }
        left -= 1;
        if left == 0 {
            return None;
        }
    }
    None
}

/// The superuser's commands have everybody's numbers, unless we are in a namespace with fewer.
fn maps_everyone() -> bool {
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    map.split_whitespace().eq(["0", "0", "4294967295"])
}

/// Runs a shell on a layer that is dropped, and lets it make, rename and remove a file of its own there.
fn act(launcher: &Launcher, root: &Path, held: &HeldLayers) -> Result<(), String> {
    let told = |error: std::io::Error| format!("{}: {error}", held.path().display());
    let layer = held.begin(root, &[]).map_err(told)?;
    // Whatever ends this program now, nobody takes it for a layer that waits for a decision.
    layer.forget_description().map_err(told)?;
    let place = layer.place().map_err(told)?;
    let trial = Trial { directory: root, script: ACT };
    let outcome = try_rules(launcher, &trial, |rules| ConfinementRules {
        backend: Backend::Namespaces,
        writable: vec![root.to_owned()],
        layer: Some(place),
        ..rules
    });
    layer.remove().map_err(told)?;
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_points_are_read_as_the_kernel_writes_them() {
        let table = b"36 35 98:0 / /w rw - ext4 d rw\n37 36 0:5 / /w/a\\040b rw - tmpfs t rw\n";
        let cases = [
            ("/w", Some("/w/a b")),
            ("/w/a b", None),
            ("/w/a", None),
            ("/", Some("/w")),
            ("/other", None),
        ];
        for (root, expected) in cases {
            let found = mounted_beneath(table, Path::new(root));
            assert_eq!(found, expected.map(PathBuf::from), "{root}");
        }
    }
}
