//! The judgement of workspace names that a command must not read or change.
//!
//! Law: the same functions judge here as for the file tools. A directory that cannot be listed or
//! searched may hold anything, so it is hidden whole.

use std::collections::{BTreeSet, HashSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use jm_files::git_control as control;
use jm_files::names::{Protection, protected_names_below, protected_part, protection_in};
use jm_files::{Root, Sandbox};

use super::kept_names::{MOST_LISTED, WorkspaceScan};
use super::link_way::{follow, found_at};
use super::repositories::work_tree_of;
use super::survey::{FoundNames, is_searchable};
use crate::contract::confinement_rules::{KeptName, KeptPresence};

/// Judges what was found below every root.
pub(crate) fn scan(sandbox: &Sandbox, found: &FoundNames) -> WorkspaceScan {
    let mut scan = WorkspaceScan::default();
    scan.is_cut = found.is_cut;
    for root in sandbox.roots().map(Root::path) {
        scan.own_settings(root);
        // What a configuration names is looked for in this root.
        scan.configured.clear();
        scan.repositories_above(root);
        let below = found.paths.range(root.to_owned()..).take_while(|path| path.starts_with(root));
        below.for_each(|path| scan.judge(sandbox, root, path));
        scan.links_inside(root);
    }
    let is_outside = |path: &PathBuf| !sandbox.roots().any(|root| path.starts_with(root.path()));
    scan.linked.retain(is_outside);
    // A placeholder stands for these.
    let missing: HashSet<&Path> = scan.kept.iter().map(|kept| &*kept.path).collect();
    scan.absent.retain(|path| !missing.contains(&**path));
    scan.absent.sort_unstable();
    scan.absent.dedup();
    scan
}

/// Files that stand where a missing name was put aside.
fn put_aside(absent: &[PathBuf]) -> impl Iterator<Item = PathBuf> {
    let folders: BTreeSet<&Path> = absent.iter().filter_map(|path| path.parent()).collect();
    let entries = folders.into_iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten();
    let is_aside = |path: &PathBuf| path.to_string_lossy().contains(control::ASIDE);
    entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_aside)
}

/// Protected names, and the time of the last change where git itself writes them.
pub type ProtectedNames = BTreeSet<(PathBuf, Option<i64>)>;

/// The protected names of the workspace, there or not.
pub(super) fn protected_paths(sandbox: &Sandbox, found: &FoundNames) -> Vec<PathBuf> {
    let scan = scan(sandbox, found);
    scan.kept.into_iter().map(|kept| kept.path).chain(scan.absent).collect()
}

/// Those that exist.
pub(super) fn protected_names(sandbox: &Sandbox, found: &FoundNames) -> ProtectedNames {
    let scan = scan(sandbox, found);
    let kept = scan.kept.iter().filter(|kept| kept.now == KeptPresence::Present);
    let kept = kept.map(|kept| (kept.path.clone(), None));
    let aside = put_aside(&scan.absent).map(|path| (path, None));
    let changed = |path: PathBuf| {
        let time = path.symlink_metadata().ok().map(|found| found.mtime_nsec() ^ found.mtime());
        (path, time)
    };
    kept.chain(aside).chain(scan.reported.into_iter().map(changed)).collect()
}

impl WorkspaceScan {
    fn own_settings(&mut self, root: &Path) {
        let own = root.join(".journeyman");
        if found_at(&own).is_none() {
            self.kept.push(KeptName { path: own, now: KeptPresence::MissingDirectory });
        }
    }

    fn judge(&mut self, sandbox: &Sandbox, root: &Path, path: &Path) {
        let Ok(metadata) = path.symlink_metadata() else { return };
        let is_directory = metadata.is_dir();
        if path == root {
            return self.folder(root, path);
        }
        let (folder, name) = (path.parent().unwrap_or(root), path.file_name().unwrap_or_default());
        if sandbox.denies_in(folder, name) {
            return self.hide(path);
        }
        if name == ".git" && is_directory {
            return self.git_directory(root, path);
        }
        if name == ".git" {
            self.linked.extend(work_tree_of(path));
            self.repository_at(root, path, folder);
        }
        if name == ".git" && metadata.is_symlink() {
            return self.git_link(root, path);
        }
        // Only the name is judged: the directories above were judged on the way here.
        let is_protected = match protection_in(folder.strip_prefix(root).unwrap_or(folder), name) {
            Protection::NeedsPerson(_) | Protection::Never => true,
            Protection::RunsInBuilds | Protection::None => false,
        };
        match is_protected.then(|| found_at(path)).flatten() {
            Some(_) if is_directory && !is_searchable(path) => self.hide(path),
            Some(_) => self.keep(root, path, follow(folder, path)),
            None if is_directory && !is_searchable(path) => self.hide(path),
            None if is_directory => self.folder(root, path),
            None if metadata.is_symlink() => self.found_link(root, path),
            None => {}
        }
    }

    /// A link whose own name is not protected.
    fn found_link(&mut self, root: &Path, path: &Path) {
        if self.followed >= MOST_LISTED {
            return;
        }
        self.followed += 1;
        let relative = path.strip_prefix(root).unwrap_or(path);
        let below: Vec<PathBuf> = protected_names_below(relative).collect();
        // Inside a protected directory what it leads to runs as well.
        if protected_part(relative).is_some() {
            self.keep(root, path, follow(root, path));
        }
        for path in below.into_iter().map(|below| path.join(below)) {
            self.keep(root, &path, follow(root, &path));
        }
    }

    /// A directory that may be git's own by another name.
    fn folder(&mut self, root: &Path, path: &Path) {
        if control::is_git_directory_at(path) {
            self.git_directory(root, path);
        }
    }
}
