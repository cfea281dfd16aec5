//! Making and removing single directories.

use std::ffi::OsStr;

use jm_system::identity::ProcessIdentity;
use jm_types::{ToolError, ignore_error};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{self, AtFlags, Mode, OFlags};

use crate::commit::remove_all;
use crate::file::{EntryKind, OpenDirectory};
use crate::ignored::{IgnoreFiles, Ignored};
use crate::listing::{DirectoryListing, ListedName, WalkRules};
use crate::resolve::Found;
use crate::sandbox::{SafePath, Sandbox, io_error};

/// Makes the directory, with its parents, unless it is there.
pub fn make(path: &SafePath, mode: u32) -> Result<(), ToolError> {
    let Found::Missing { existing } = path.found() else { return Ok(()) };
    let fail = |error| io_error(path.asked(), error);
    let there: std::path::PathBuf = path.relative().iter().take(existing).collect();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    let root = path.root();
    let mut directory = path.opening().open(&**root, &there, flags, Mode::empty()).map_err(fail)?;
    for name in path.relative().iter().skip(existing) {
        fs::mkdirat(&directory, name, Mode::from_raw_mode(mode)).map_err(fail)?;
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        directory = fs::openat(&directory, name, flags, Mode::empty()).map_err(fail)?;
        fs::fchmod(&directory, Mode::from_raw_mode(mode)).map_err(fail)?;
    }
    Ok(())
}

/// Gives a directory these permission bits.
pub fn set_mode(path: &SafePath, mode: u32) -> Result<(), ToolError> {
    let fail = |error| io_error(path.asked(), error);
    let directory = path.open(OFlags::RDONLY | OFlags::DIRECTORY).map_err(fail)?;
    fs::fchmod(&directory, Mode::from_raw_mode(mode)).map_err(fail)
}

/// Removes the directory, if nothing is in it.
pub fn remove_if_empty(path: &SafePath) -> Result<(), ToolError> {
    in_parent(path, |parent, name| fs::unlinkat(parent, name, AtFlags::REMOVEDIR))
}

/// Removes a temporary file of ours that a crash left behind, or a directory that it had put aside.
pub fn remove_leftover(path: &SafePath) -> Result<(), ToolError> {
    let name = path.relative().file_name().unwrap_or_default();
    if name.as_encoded_bytes().starts_with(b".jm-") {
        in_parent(path, |parent, name| remove_all(parent.as_fd(), name))
    } else {
        Ok(())
    }
}

fn in_parent(
    path: &SafePath,
    work: impl FnOnce(&OwnedFd, &OsStr) -> rustix::io::Result<()>,
) -> Result<(), ToolError> {
    let fail = |error| io_error(path.asked(), error);
    let relative = path.relative();
    let parent = relative.parent().unwrap_or(std::path::Path::new(""));
    let Some(name) = relative.file_name() else { return Ok(()) };
    let open = OFlags::RDONLY | OFlags::DIRECTORY;
    let root = path.root();
    let parent = path.opening().open(&**root, parent, open, Mode::empty()).map_err(fail)?;
    work(&parent, name).map_err(fail)
}

/// Directories that are searched for leftovers.
const MOST_SEARCHED: usize = 100_000;

/// Removes the temporary files that dead processes of ours left anywhere in the working root, as
/// far as `may_remove` agrees to the process's number.
pub fn sweep_leftovers(sandbox: &Sandbox, may_remove: &dyn Fn(u32) -> bool) {
    let Ok(root) = sandbox.resolve(".") else { return };
    let rules = WalkRules { sandbox, ignore_files: IgnoreFiles::None, skips_hidden: false };
    let mut waiting: Vec<OpenDirectory> = OpenDirectory::open(&root).into_iter().collect();
    for _ in 0..MOST_SEARCHED {
        let Some(directory) = waiting.pop() else { return };
        let Ok(listing) = DirectoryListing::new(directory, &Ignored::default(), rules) else {
            continue;
        };
        for ListedName { name, kind, .. } in listing.entries {
            if let Some(pid) = maker(&name) {
                if may_remove(pid) && !ProcessIdentity::is_any_alive(pid) {
                    let removed = remove_all(listing.directory.as_fd(), &name);
                    ignore_error(removed, "a leftover that stays does no harm but to tidiness");
                }
            } else if name != ".git" && kind == EntryKind::Directory {
                waiting.extend(listing.directory.enter(&name));
            }
        }
    }
}

/// The process that made a file of this name, if it is one of ours.
fn maker(name: &std::ffi::OsStr) -> Option<u32> {
    let name = name.to_str()?;
    let name = name.strip_suffix(".old").unwrap_or(name);
    let (pid, noise) = name.strip_prefix(".jm-")?.strip_suffix(".tmp")?.split_once('-')?;
    let is_noise = noise.len() == 16 && noise.bytes().all(|byte| byte.is_ascii_hexdigit());
    pid.parse().ok().filter(|_| is_noise)
}
