//! Copies of two mounts that wait in a command's future tree: the workspace's root, and the directory of the layers.
//!
//! Law: they are taken before anything is covered, without the mounts below them, and are gone from the tree before
//! a command sees it.

use std::io::Result;
use std::path::Path;

use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Mode};
use rustix::mount::{UnmountFlags, unmount};

use super::layer::{open_directory, overlay_within};
use super::mount_calls::{MountDepth, clone_within, mount_at, open_beneath, tmpfs};
use crate::contract::confinement_rules::{ConfinementRules, LayerPlace};

const STANDBY: &str = ".standby";
const GROUND: &str = ".standby/ground";
const LAYERS: &str = ".standby/layers";

/// The copies, attached nowhere yet.
pub(super) struct StandbyMounts {
    ground: OwnedFd,
    layers: OwnedFd,
}

impl StandbyMounts {
    pub(super) fn take(rules: &ConfinementRules) -> Result<Self> {
        let layer = rules.layer.as_ref();
        let missing = || std::io::Error::from(std::io::ErrorKind::InvalidInput);
        let (layer, home) =
            layer.and_then(|layer| Some((layer, layer.home()?))).ok_or_else(missing)?;
        let copy = |path: &Path| clone_within(&open_directory(path)?, MountDepth::Alone);
        Ok(Self { ground: copy(&layer.root.path)?, layers: copy(home)? })
    }

    /// Attaches them below a directory that nobody can enter.
    pub(super) fn put(self, root: &OwnedFd) -> Result<()> {
        rustix::fs::mkdirat(root, STANDBY, Mode::RWXU)?;
        mount_at(root, Path::new(STANDBY), &tmpfs("0700")?)?;
        for (name, tree) in [(GROUND, self.ground), (LAYERS, self.layers)] {
            rustix::fs::mkdirat(root, name, Mode::RWXU)?;
            mount_at(root, Path::new(name), &tree)?;
        }
        Ok(())
    }

    /// The overlay of a layer, made of what stands by below the root; then nothing stands by there any more.
    pub(super) fn overlay(root: &OwnedFd, layer: &LayerPlace) -> Result<OwnedFd> {
        let ground = open_beneath(root, Path::new(GROUND))?;
        let layers = open_beneath(root, Path::new(LAYERS))?;
        let overlay = overlay_within(layer, ground, &layers)?;
        unmount(Path::new("/").join(STANDBY), UnmountFlags::DETACH)?;
        rustix::fs::unlinkat(root, STANDBY, AtFlags::REMOVEDIR)?;
        Ok(overlay)
    }
}
