//! A small file system in memory, so that a disk can really be full.
//!
//! Root may mount one; anybody else may in a namespace of their own, so there the whole test runs
//! once more inside one.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

const PAGE: usize = 4096;
const INSIDE: &str = "JM_TEST_INSIDE_NAMESPACE";

/// The resource that runs out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scarce {
    Pages,
    Inodes,
}

pub(crate) struct Disk {
    place: TempDir,
}

impl Disk {
    /// Four megabytes, and a thousand files. Nothing where this user may not mount.
    pub(crate) fn mount() -> Option<Self> {
        let place = TempDir::new().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=4m,nr_inodes=1000", "jm-test"]).arg(place.path());
        let mounted = mount.stderr(Stdio::null()).status().is_ok_and(|status| status.success());
        mounted.then_some(Self { place })
    }

    pub(crate) fn path(&self) -> &Path {
        self.place.path()
    }

    fn filler(&self) -> PathBuf {
        self.path().join("filler")
    }

    /// Leaves so many free, and no more.
    pub(crate) fn fill(&self, scarce: Scarce, free: usize) {
        fs::create_dir(self.filler()).unwrap();
        match scarce {
            Scarce::Pages => self.fill_pages(free),
            Scarce::Inodes => self.fill_inodes(free),
        }
    }

    fn fill_pages(&self, free: usize) {
        let kept = self.filler().join("kept");
        fs::write(&kept, vec![1; free * PAGE]).unwrap();
        let mut rest = File::create(self.filler().join("rest")).unwrap();
        while rest.write_all(&[1; PAGE]).is_ok() {}
        fs::remove_file(kept).unwrap();
    }

    fn fill_inodes(&self, free: usize) {
        let name = |number: usize| self.filler().join(number.to_string());
        let made = (0..).take_while(|number| File::create(name(*number)).is_ok()).count();
        (made.saturating_sub(free)..made).for_each(|number| fs::remove_file(name(number)).unwrap());
    }

    /// There is room again.
    pub(crate) fn free(&self) {
        fs::remove_dir_all(self.filler()).unwrap();
    }

    pub(crate) fn remount(&self, how: &str) {
        let options = format!("remount,{how}");
        let status = Command::new("mount").args(["-o", &options]).arg(self.path()).status();
        assert!(status.unwrap().success());
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        Command::new("umount").arg("-l").arg(self.path()).status().ok();
    }
}

/// Does the work where small disks can be mounted. `test` is the whole name of the test that asks.
#[track_caller]
pub(crate) fn on_small_disks(test: &str, work: impl FnOnce()) {
    if !jm_testing::has("small_disks") {
        return;
    }
    if Disk::mount().is_some() {
        return work();
    }
    assert!(std::env::var_os(INSIDE).is_none(), "not even inside a namespace of its own");
    let own = std::env::current_exe().unwrap();
    let mut again = Command::new("unshare");
    again.arg("-Urm").arg(own).args([test, "--exact", "--nocapture"]).env(INSIDE, "1");
    assert!(again.status().unwrap().success(), "in a namespace of its own");
}
