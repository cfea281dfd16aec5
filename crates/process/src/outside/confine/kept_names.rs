//! The names that a command must not read or change, gathered one by one.
//!
//! Law: with a name every link on the way to it is kept, and what stands at its end, there or not.

use std::collections::HashSet;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use jm_files::git_config::UserGitConfig;
use jm_system::folder::Descent;

use super::folder_walk::has_found_links;
use super::link_way::{LinkWay, WayEnd, follow};
use crate::contract::confinement_rules::{FileIdentity, KeptName, KeptPresence};

/// Links that are followed inside protected directories, and names that are looked at for links in those that are
/// protected by their use.
pub(super) const MOST_LISTED: usize = 4096;
/// Levels of such a directory that are looked at.
const LISTED_LEVELS: usize = 2;

/// The names of a workspace as they were judged.
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
    pub(super) followed: usize,
    /// Kept directories that the walk did not search for links.
    unlisted: Vec<PathBuf>,
    /// Read once, where there is a repository.
    pub(super) user: Option<UserGitConfig>,
    /// Git directories and work trees whose configuration was read.
    pub(super) configured: HashSet<(PathBuf, PathBuf)>,
}

impl WorkspaceScan {
    pub(super) fn hide(&mut self, path: &Path) {
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
        let is_around = is_linked && path.starts_with(&place) || place == root;
        match found {
            _ if is_around || !place.starts_with(root) => {}
            Some(metadata) => self.keep_one(root, place, &metadata),
            None if self.is_kept(&place) => {}
            None => self.absent.push(place),
        }
    }

    /// Protects the ends of links in the directories that are protected by their use and not by their names.
    pub(super) fn links_inside(&mut self, root: &Path) {
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
