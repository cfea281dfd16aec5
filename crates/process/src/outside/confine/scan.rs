//! The judgement of workspace names that a command must not read or change.
//!
//! Law: the same functions judge here as for the file tools. A directory that cannot be listed or
//! searched may hold anything, so it is hidden whole.

use std::collections::{BTreeSet, HashSet};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use jm_files::git_config::UserGitConfig;
use jm_files::git_control as control;
use jm_files::names::{Protection, protection_in};
use jm_files::{Root, Sandbox};
use jm_system::folder::Descent;

use super::folder_walk::has_found_links;
use super::link_way::{LinkWay, WayEnd, follow, found_at};
use super::repositories::work_tree_of;
use super::survey::{FoundNames, is_searchable};
use crate::contract::confinement_rules::{FileIdentity, KeptName, KeptPresence};

/// Links that are followed inside protected directories, and names that are looked at for links in those that are
/// protected by their use.
const MOST_LISTED: usize = 4096;
/// Levels of such a directory that are looked at.
const LISTED_LEVELS: usize = 2;

#[derive(Debug, Default)]
pub(crate) struct WorkspaceScan {
    pub(super) kept: Vec<KeptName>,
    pub(super) hidden: Vec<PathBuf>,
    /// Kept and hidden names as they were found.
    pub(super) identities: Vec<FileIdentity>,
    /// Names that must not come into being.
    pub(super) absent: Vec<PathBuf>,
    /// Existing names whose change is reported when a command has ended.
    pub(super) reported: Vec<PathBuf>,
    /// Repositories outside that a work tree here belongs to.
    pub(super) linked: Vec<PathBuf>,
    /// There are more names than were judged.
    pub(super) is_cut: bool,
    /// Those of the kept names that exist.
    known: HashSet<PathBuf>,
    /// Links inside protected directories that were followed.
    followed: usize,
    /// Kept directories that the walk did not search for links.
    unlisted: Vec<PathBuf>,
    /// Read once, where there is a repository.
    pub(super) user: Option<UserGitConfig>,
    /// Git directories and work trees whose configuration was read.
    pub(super) configured: HashSet<(PathBuf, PathBuf)>,
}

/// Judges what was found below every root.
pub(crate) fn scan(sandbox: &Sandbox, found: &FoundNames) -> WorkspaceScan {
    let mut scan = WorkspaceScan { is_cut: found.is_cut, ..WorkspaceScan::default() };
    for root in sandbox.roots().map(Root::path) {
        scan.own_settings(root);
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
            // Inside a protected directory: what it leads to runs as well.
            None if metadata.is_symlink() && self.followed < MOST_LISTED => {
                self.followed += 1;
                self.keep(root, path, follow(folder, path));
            }
            None => {}
        }
    }

    /// A directory that may be git's own by another name.
    fn folder(&mut self, root: &Path, path: &Path) {
        if control::is_git_directory_at(path) {
            self.git_directory(root, path);
        }
    }

    fn hide(&mut self, path: &Path) {
        if let Ok(metadata) = path.symlink_metadata() {
            self.identify(path, &metadata);
        }
        self.hidden.push(path.to_owned());
    }

    fn identify(&mut self, path: &Path, metadata: &Metadata) {
        let (device, inode) = (metadata.dev(), metadata.ino());
        self.identities.push(FileIdentity { path: path.to_owned(), device, inode });
    }

    /// Protects a name with every link on the way to it, and what stands at its end, because that is what runs.
    pub(super) fn keep(&mut self, root: &Path, path: &Path, way: LinkWay) {
        let is_linked = !way.links.is_empty();
        for (link, metadata) in way.links {
            self.keep_one(root, link, &metadata);
        }
        let Some(WayEnd { place, found }) = way.end else { return };
        // One that leads to a folder around itself would keep all of that.
        let is_around = is_linked && path.starts_with(&place);
        match found {
            _ if is_around || !place.starts_with(root) => {}
            Some(_) if is_linked && path.ends_with(".git") => self.git_directory(root, &place),
            Some(metadata) => self.keep_one(root, place, &metadata),
            None if self.is_kept(&place) => {}
            None => self.absent.push(place),
        }
    }

    /// Protects the ends of links in the directories that are protected by their use and not by their names.
    fn links_inside(&mut self, root: &Path) {
        let mut left = MOST_LISTED;
        while let Some(top) = self.unlisted.pop() {
            let mut descent = Descent::below(&top);
            while let Some(entry) = descent.next() {
                let Ok(entry) = entry else { continue };
                left -= 1;
                if left == 0 {
                    return;
                }
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() && descent.level() + 1 < LISTED_LEVELS => {
                        descent.enter(&entry)
                    }
                    Ok(kind) if kind.is_symlink() => {
                        let path = entry.path();
                        self.keep(root, &path, follow(&top, &path));
                    }
                    _ => {}
                }
            }
        }
    }

    fn keep_one(&mut self, root: &Path, path: PathBuf, metadata: &Metadata) {
        if !path.starts_with(root) || self.is_kept(&path) {
            return;
        }
        if metadata.is_dir() && !has_found_links(path.strip_prefix(root).unwrap_or(&path)) {
            self.unlisted.push(path.clone());
        }
        self.identify(&path, metadata);
        self.known.insert(path.clone());
        self.kept.push(KeptName { path, now: KeptPresence::Present });
    }

    /// Tells whether a name is protected already, or a directory around it.
    fn is_kept(&self, path: &Path) -> bool {
        path.ancestors().any(|path| self.known.contains(path))
    }
}
