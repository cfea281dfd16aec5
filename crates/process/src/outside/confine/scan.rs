//! The walk through the workspace that finds names a command must not read or change.
//!
//! Law: the same functions judge here as for the file tools. A directory that cannot be listed or
//! searched may hold anything, so it is hidden whole.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use jm_files::Sandbox;
use jm_files::git_control::{self as control, ControlForm, Treatment};
use jm_files::names::{Protection, protection_in};
use jm_files::placeholder::is_marked;
use jm_system::state::read_text;

use crate::contract::confinement_rules::{FileIdentity, KeptName, KeptPresence};

/// Names of the workspace beyond this number are not judged.
pub(super) const MOST_ENTRIES: usize = 200_000;
/// Links behind each other that are followed.
const MOST_LINKS: usize = 8;

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
    pub(super) entries: usize,
}

/// Looks through every root.
pub(crate) fn scan(sandbox: &Sandbox) -> WorkspaceScan {
    let mut scan = WorkspaceScan::default();
    sandbox.roots().for_each(|root| scan.root(sandbox, root.path()));
    let is_outside = |path: &PathBuf| !sandbox.roots().any(|root| path.starts_with(root.path()));
    scan.linked.retain(is_outside);
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

/// The protected names of the workspace that exist, each with the time of its last change where git
/// itself writes it: what a command made or changed is the difference of two such sets.
pub fn protected_names(sandbox: &Sandbox) -> ProtectedNames {
    let scan = scan(sandbox);
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
    fn root(&mut self, sandbox: &Sandbox, root: &Path) {
        let own = root.join(".journeyman");
        if found(&own).is_none() {
            self.kept.push(KeptName { path: own, now: KeptPresence::MissingDirectory });
        }
        let mut waiting = vec![root.to_owned()];
        while let Some(folder) = waiting.pop() {
            let entries = match searchable_entries(&folder) {
                Ok(entries) => entries.filter_map(Result::ok),
                Err(error) => {
                    if error.kind() == std::io::ErrorKind::PermissionDenied && folder != root {
                        self.hide(&folder);
                    }
                    continue;
                }
            };
            let kind =
                |entry: &std::fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
            let entries: Vec<(OsString, bool)> =
                entries.map(|entry| (entry.file_name(), kind(&entry))).collect();
            self.entries += entries.len();
            if self.entries > MOST_ENTRIES {
                return;
            }
            if control::is_git_directory(entries.iter().map(|(name, _)| name.as_bytes())) {
                self.git_directory(root, &folder);
            }
            for (name, is_directory) in entries {
                let path = folder.join(&name);
                if self.judge(sandbox, root, &path, is_directory) == ScanDescend::Yes {
                    waiting.push(path);
                }
            }
        }
    }

    fn judge(
        &mut self,
        sandbox: &Sandbox,
        root: &Path,
        path: &Path,
        is_directory: bool,
    ) -> ScanDescend {
        let (folder, name) = (path.parent().unwrap_or(root), path.file_name().unwrap_or_default());
        if sandbox.denies_in(folder, name) {
            self.hide(path);
            return ScanDescend::No;
        }
        if name == ".git" && is_directory {
            self.git_directory(root, path);
            return ScanDescend::No;
        }
        if name == ".git" {
            self.linked.extend(work_tree_of(path));
        }
        // Only the name is judged: the directories above were judged on the way here.
        let is_protected = match protection_in(folder.strip_prefix(root).unwrap_or(folder), name) {
            Protection::NeedsPerson(_) | Protection::Never => true,
            Protection::RunsInBuilds | Protection::None => false,
        };
        if let Some(metadata) = is_protected.then(|| found(path)).flatten() {
            self.keep(root, path, metadata);
            return ScanDescend::No;
        }
        if is_directory { ScanDescend::Yes } else { ScanDescend::No }
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

    /// Of a link also its target within the root, because that is what runs.
    fn keep(&mut self, root: &Path, path: &Path, metadata: Metadata) {
        let (mut next, mut metadata) = (path.to_owned(), metadata);
        for _ in 0..MOST_LINKS {
            let target = metadata.is_symlink().then(|| target_of(&next)).flatten();
            self.identify(&next, &metadata);
            self.kept.push(KeptName { path: next, now: KeptPresence::Present });
            // One that leads to a folder around itself would keep all of that.
            let is_inside =
                |target: &PathBuf| target.starts_with(root) && !path.starts_with(target);
            let target = target.filter(is_inside);
            match target.and_then(|target| found(&target).map(|metadata| (target, metadata))) {
                None => return,
                Some((git, found)) if path.ends_with(".git") && !found.is_symlink() => {
                    return self.git_directory(root, &git);
                }
                Some(target) => (next, metadata) = target,
            }
        }
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
                match (entry.treatment, found(&path)) {
                    (Treatment::Report, Some(_)) => self.reported.push(path),
                    (Treatment::Report, None) => {}
                    (_, Some(metadata)) => self.keep(root, &path, metadata),
                    // Git reads neither in the private directory of a work tree.
                    (Treatment::Placeholder, None) if is_private => {}
                    (Treatment::Placeholder, None) => {
                        self.kept.push(KeptName { path, now: missing })
                    }
                    (Treatment::PutAside, None) => self.absent.push(path),
                }
            }
            self.named(root, &directory, git.parent().unwrap_or(root));
        }
    }

    /// Files of the workspace that git's configuration names.
    fn named(&mut self, root: &Path, git: &Path, work_tree: &Path) {
        for named in control::named_in_config(git, work_tree) {
            let path = named.path;
            let is_inside = path.starts_with(root) && !git.starts_with(&path) && path != work_tree;
            match found(&path) {
                _ if !is_inside => {}
                Some(metadata) => self.keep(root, &path, metadata),
                None if named.is_read => self.absent.push(path),
                None => {}
            }
        }
    }
}

/// The entries of a directory in which names can be looked up too: one that only lists them would
/// pass for a directory of missing files.
fn searchable_entries(folder: &Path) -> std::io::Result<std::fs::ReadDir> {
    folder.join(".").symlink_metadata()?;
    std::fs::read_dir(folder)
}

/// The file of a name. `None` where it is missing; a placeholder of another command is nothing.
fn found(path: &Path) -> Option<Metadata> {
    let metadata = path.symlink_metadata().ok()?;
    (!is_marked(&metadata, path)).then_some(metadata)
}

/// The next step of a link: its directory as the kernel finds it, the name as it is.
fn target_of(link: &Path) -> Option<PathBuf> {
    let target = link.parent()?.join(std::fs::read_link(link).ok()?);
    Some(target.parent()?.canonicalize().ok()?.join(target.file_name()?))
}

#[derive(Clone, Copy, PartialEq)]
enum ScanDescend {
    Yes,
    No,
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
