//! The judgement of workspace names that a command must not read or change.
//!
//! Law: the same functions judge here as for the file tools. A directory that cannot be listed or
//! searched may hold anything, so it is hidden whole.

use std::collections::{BTreeSet, HashSet};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use jm_files::git_config::{ConfiguredRole, UserGitConfig, named_in_config};
use jm_files::git_control::{self as control, ControlForm, Treatment};
use jm_files::names::{Protection, protection_in};
use jm_files::{Root, Sandbox};
use jm_system::folder::Descent;
use jm_system::state::read_text;

use super::folder_walk::has_found_links;
use super::link_way::{LinkWay, WayEnd, follow, found_at};
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
    user: Option<UserGitConfig>,
}

/// Judges what was found below every root.
pub(crate) fn scan(sandbox: &Sandbox, found: &FoundNames) -> WorkspaceScan {
    let mut scan = WorkspaceScan { is_cut: found.is_cut, ..WorkspaceScan::default() };
    for root in sandbox.roots().map(Root::path) {
        scan.own_settings(root);
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
    fn keep(&mut self, root: &Path, path: &Path, way: LinkWay) {
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

    /// Git's control surface, of a repository and of those that belong to it.
    fn git_directory(&mut self, root: &Path, git: &Path) {
        for directory in control::family(git) {
            let is_private = directory.parent().is_some_and(|above| above.ends_with("worktrees"));
            for entry in control::SURFACE {
                let path = directory.join(entry.name);
                let missing = match entry.form {
                    ControlForm::File => KeptPresence::MissingFile,
                    ControlForm::Directory => KeptPresence::MissingDirectory,
                };
                match (entry.treatment, found_at(&path)) {
                    (Treatment::Report, Some(_)) => self.reported.push(path),
                    (Treatment::Report, None) => {}
                    (_, Some(_)) | (Treatment::PutAside, None) => {
                        self.keep(root, &path, follow(root, &path));
                    }
                    // Git reads neither in the private directory of a work tree.
                    (Treatment::Placeholder, None) if is_private => {}
                    (Treatment::Placeholder, None) => {
                        self.kept.push(KeptName { path, now: missing })
                    }
                }
            }
            self.named(root, &directory, git.parent().unwrap_or(root));
        }
    }

    /// Files of the workspace that git's configuration names.
    fn named(&mut self, root: &Path, git: &Path, work_tree: &Path) {
        let user = self.user.get_or_insert_with(user_git_config);
        for named in named_in_config(git, work_tree, user) {
            let way = follow(root, &named.path);
            let Some(end) = &way.end else { continue };
            let is_around = git.starts_with(&end.place) || work_tree.starts_with(&end.place);
            let counts = match (named.role, &end.found) {
                (ConfiguredRole::Read | ConfiguredRole::Program, _) => true,
                // A directory among the words of a command is no program.
                (ConfiguredRole::Script, found) => !found.as_ref().is_some_and(Metadata::is_dir),
                (ConfiguredRole::Word, found) => found.as_ref().is_some_and(|it| !it.is_dir()),
            };
            if counts && !is_around && end.place.starts_with(root) {
                self.keep(root, &named.path, way);
            }
        }
    }
}

/// The person's own configuration of git.
fn user_git_config() -> UserGitConfig {
    let directory = |name| std::env::var_os(name).map(PathBuf::from).filter(|it| it.is_absolute());
    UserGitConfig::read(directory("HOME").as_deref(), directory("XDG_CONFIG_HOME").as_deref())
}

/// The repository of a linked work tree, if it knows of the work tree too: a `.git` file can say
/// anything, and must not open a directory that does not answer for it.
pub(super) fn work_tree_of(file: &Path) -> Option<PathBuf> {
    let read = |path: &Path| read_text(path, 4096).ok().flatten();
    let text = read(file)?;
    let private = PathBuf::from(text.strip_prefix("gitdir: ")?.trim_end());
    let answer = read(&private.join("gitdir"))?;
    let common = private.parent()?.parent()?;
    let is_worktree = private.parent()?.file_name()? == "worktrees";
    (is_worktree && private.is_absolute() && Path::new(answer.trim_end()) == file)
        .then(|| common.to_owned())
}
