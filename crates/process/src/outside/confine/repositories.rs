//! The judgement of git directories: their control surface, and the files of the workspace that their configuration names.
//!
//! Law: nothing outside the workspace is protected, but the configuration there is read: it names files in here.

use std::fs::Metadata;
use std::path::{Path, PathBuf};

use jm_files::git_config::{ConfiguredNames, ConfiguredRole, UserGitConfig, named_in_config};
use jm_files::git_control::{self as control, ControlForm, Treatment};
use jm_files::git_repository::repository_of;
use jm_system::state::read_text;

use super::kept_names::WorkspaceScan;
use super::link_way::{WayEnd, follow, found_at};
use crate::contract::confinement_rules::{KeptName, KeptPresence};

impl WorkspaceScan {
    /// Git's control surface, of a repository and of those that belong to it.
    pub(super) fn git_directory(&mut self, root: &Path, git: &Path) {
        for directory in control::family(git) {
            // A submodule may have the name of such a directory.
            let is_private = directory.parent().is_some_and(|above| above.ends_with("worktrees"))
                && found_at(&directory.join("commondir")).is_some();
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
            // The configuration of a linked work tree is read with that of its repository.
            if !is_private {
                let work_tree = (directory == git).then(|| git.parent().unwrap_or(root));
                self.named(root, &directory, work_tree);
            }
        }
    }

    /// A link in the place of a git directory: of what it leads to only the surface is protected, as anywhere.
    pub(super) fn git_link(&mut self, root: &Path, path: &Path) {
        let mut way = follow(root, path);
        let is_directory = |end: &mut WayEnd| end.found.as_ref().is_some_and(Metadata::is_dir);
        let git = way.end.take_if(is_directory).map(|end| end.place);
        self.keep(root, path, way);
        // One that leads to a folder around itself is none.
        let git = git.filter(|git| git.starts_with(root) && !path.starts_with(git));
        if let Some(git) = git {
            self.git_directory(root, &git);
        }
    }

    /// Repositories whose work trees have the root in them.
    pub(super) fn repositories_above(&mut self, root: &Path) {
        for folder in root.ancestors().skip(1) {
            self.repository_at(root, &folder.join(".git"), folder);
        }
    }

    /// The repository that a `.git` leads to, wherever it lies.
    pub(super) fn repository_at(&mut self, root: &Path, dot_git: &Path, work_tree: &Path) {
        if let Some(git) = repository_of(dot_git) {
            self.named(root, &git, Some(work_tree));
        }
    }

    /// Files of the workspace that git's configuration names.
    fn named(&mut self, root: &Path, git: &Path, work_tree: Option<&Path>) {
        let tree = work_tree.map(|tree| (git.to_owned(), tree.to_owned()));
        if tree.is_some_and(|tree| self.configured.contains(&tree)) {
            return;
        }
        let user = self.user.get_or_insert_with(user_git_config);
        let ConfiguredNames { paths, work_trees } = named_in_config(git, work_tree, user);
        for named in paths {
            let mut way = follow(root, &named.path);
            let found = way.end.as_ref().and_then(|end| end.found.as_ref());
            let counts = match named.role {
                ConfiguredRole::Read | ConfiguredRole::Program => true,
                // A directory among the words of a command is no program.
                ConfiguredRole::Script => !found.is_some_and(Metadata::is_dir),
                ConfiguredRole::Word => found.is_some_and(|found| !found.is_dir()),
            };
            // The repository itself, or a whole work tree, cannot be protected.
            way.end.take_if(|WayEnd { place, .. }| {
                let is_above = work_tree.is_some_and(|tree| tree.starts_with(&*place));
                git.starts_with(&*place) || is_above || work_trees.contains(place)
            });
            if counts {
                self.keep(root, &named.path, way);
            }
        }
        self.configured.extend(work_trees.into_iter().map(|tree| (git.to_owned(), tree)));
    }
}

/// The person's own configuration of git, wherever the environment says that it is.
fn user_git_config() -> UserGitConfig {
    let path = |name| std::env::var_os(name).map(PathBuf::from).filter(|it| it.is_absolute());
    let named: Vec<PathBuf> =
        ["GIT_CONFIG_SYSTEM", "GIT_CONFIG_GLOBAL"].into_iter().filter_map(path).collect();
    UserGitConfig::read(path("HOME").as_deref(), path("XDG_CONFIG_HOME").as_deref(), &named)
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
