//! From the sandbox of the file tools to the walls of a command.
//!
//! Law: one policy. What a file tool may not read is hidden from commands, what it may not write
//! without a person stays as it is, and both are judged by the same functions.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::toolchains;
use super::walls::{Backend, Existing, Kept, Network, Resources, Walls};
use crate::launch::is_placeholder;
use crate::names::{Protection, protection};
use crate::sandbox::Sandbox;

/// So many names of the workspace are looked at for what must be hidden.
const MOST_ENTRIES: usize = 200_000;
/// So many links behind each other are followed.
const MOST_LINKS: usize = 8;

/// What the person configured for commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandSettings {
    /// `None` chooses the strongest that works.
    pub backend: Option<Backend>,
    pub network: Network,
    /// Directories besides the workspace that commands may write.
    pub writable: Vec<PathBuf>,
    pub resources: Resources,
}

impl Default for CommandSettings {
    fn default() -> Self {
        let resources = Resources::default();
        Self { backend: None, network: Network::Off, writable: Vec::new(), resources }
    }
}

/// Walls, and what they do not hold.
#[derive(Debug, Clone)]
pub struct Plan {
    pub walls: Walls,
    /// What this back end cannot enforce here, each in a sentence.
    pub gaps: Vec<String>,
}

/// Compiles the walls for one command.
pub fn plan(
    sandbox: &Sandbox,
    settings: &CommandSettings,
    backend: Backend,
    environment: &[(OsString, OsString)],
) -> Plan {
    let mut scan = Scan::default();
    let roots: Vec<PathBuf> = sandbox.roots().map(|root| root.path().to_owned()).collect();
    roots.iter().for_each(|root| scan.root(sandbox, root));
    let home = environment.iter().find(|(name, _)| name == "HOME");
    let homes = home.map(|(_, home)| PathBuf::from(home)).filter(|home| home.is_dir());
    // A home that is the root of the tree hides nothing.
    let homes = homes.filter(|home| home.is_absolute() && home.parent().is_some());
    let mut readable = programs(&roots, homes.as_deref(), environment);
    readable.append(&mut scan.linked);
    let mut writable = roots;
    writable.extend(settings.writable.iter().filter_map(|path| path.canonicalize().ok()));
    writable.append(&mut scan.repositories);
    let mut hidden = scan.hidden;
    hidden.extend(sandbox.own().iter().filter(|path| path.exists()).cloned());
    hidden.extend(toolchains::secrets());
    let walls = Walls {
        backend,
        network: settings.network.clone(),
        writable,
        readable,
        homes: homes.into_iter().collect(),
        kept: scan.kept,
        hidden,
        resources: settings.resources,
    };
    let mut gaps = gaps(&walls);
    let links = named(scan.links.iter());
    if backend == Backend::Bwrap && !links.is_empty() {
        gaps.push(format!("bwrap cannot hide links or keep them from being replaced: {links}"));
    }
    if scan.seen > MOST_ENTRIES {
        gaps.push(format!(
            "the workspace is larger than {MOST_ENTRIES} names; of the rest, denied and protected \
             files are not kept from the command"
        ));
    }
    Plan { walls, gaps }
}

/// What may be read and run. A project's own programs are in the workspace and as writable as all of
/// it; those of a home stay as they are, also where the home is the workspace.
fn programs(
    roots: &[PathBuf],
    home: Option<&Path>,
    environment: &[(OsString, OsString)],
) -> Vec<PathBuf> {
    let root_of = |path: &Path| roots.iter().find(|root| path.starts_with(root));
    let is_projects = |path: &PathBuf| {
        root_of(path).is_some_and(|root| home.is_none_or(|home| !home.starts_with(root)))
    };
    let seen = toolchains::readable(environment).into_iter().filter(|path| !is_projects(path));
    // On the way to them there may be links, on which nothing can be mounted.
    let plain = |path: PathBuf| match root_of(&path) {
        Some(_) => path.canonicalize().unwrap_or(path),
        None => path,
    };
    seen.map(plain).collect()
}

/// What a back end leaves open.
fn gaps(walls: &Walls) -> Vec<String> {
    let mut gaps = Vec::new();
    match walls.backend {
        Backend::Namespaces | Backend::Bwrap => {}
        Backend::Landlock => {
            let inside = |path: &&PathBuf| walls.writable.iter().any(|root| path.starts_with(root));
            let named = named(walls.hidden.iter().filter(inside));
            if !named.is_empty() {
                gaps.push(format!("landlock cannot hide files inside the workspace: {named}"));
            }
            gaps.push(
                "landlock cannot keep .git/hooks, .git/config, .journeyman and other protected \
                 files of the workspace from being written"
                    .to_owned(),
            );
            if let Network::Listed(_) = walls.network {
                gaps.push(
                    "landlock knows ports and no hosts: the command can reach other hosts on the \
                     one port that its proxy has"
                        .to_owned(),
                );
            }
            gaps.push(
                "landlock does not stop a command from changing modes and times of your files \
                 outside the workspace"
                    .to_owned(),
            );
        }
        Backend::None => gaps.push("nothing confines the command: it has all your rights".into()),
    }
    gaps
}

fn named<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> String {
    let all: Vec<String> = paths.map(|path| path.display().to_string()).collect();
    match all.len() {
        0..=3 => all.join(", "),
        more => format!("{} and {} more", all[..3].join(", "), more - 3),
    }
}

#[derive(Default)]
struct Scan {
    kept: Vec<Kept>,
    hidden: Vec<PathBuf>,
    /// `.git` directories: mounted on themselves, so that they cannot be renamed away.
    repositories: Vec<PathBuf>,
    /// Repositories elsewhere that a worktree here belongs to.
    linked: Vec<PathBuf>,
    /// Links among what is kept or hidden.
    links: Vec<PathBuf>,
    seen: usize,
}

impl Scan {
    fn root(&mut self, sandbox: &Sandbox, root: &Path) {
        let own = root.join(".journeyman");
        if !is_there(&own) {
            self.kept.push(Kept { path: own, now: Existing::MissingDirectory });
        }
        let mut waiting = vec![root.to_owned()];
        while let Some(folder) = waiting.pop() {
            let Ok(entries) = std::fs::read_dir(&folder) else { continue };
            for entry in entries.filter_map(Result::ok) {
                self.seen += 1;
                if self.seen > MOST_ENTRIES {
                    return;
                }
                let Ok(kind) = entry.file_type() else { continue };
                let path = entry.path();
                if self.judge(sandbox, root, &path, kind.is_dir()) == Descend::Yes {
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
    ) -> Descend {
        let name = path.file_name().unwrap_or_default();
        let descend = if is_directory { Descend::Yes } else { Descend::No };
        // Only the name is judged: what lies above was judged on the way here.
        let protected = match protection(Path::new(name)) {
            Protection::NeedsPerson(_) | Protection::Never => true,
            Protection::RunsInBuilds | Protection::None => false,
        };
        if sandbox.denies(path) {
            self.links.extend(path.is_symlink().then(|| path.to_owned()));
            self.hidden.push(path.to_owned());
            return Descend::No;
        }
        if name == ".git" && is_directory {
            let missing =
                if path.parent() == Some(root) { Placeholder::Yes } else { Placeholder::No };
            self.repository(root, path, missing);
            self.repositories.push(path.to_owned());
            return Descend::No;
        }
        if name == ".git" {
            self.linked.extend(worktree_of(path));
        }
        if protected && is_there(path) {
            self.keep(root, path);
            return Descend::No;
        }
        descend
    }

    /// Of a link also what it leads to within the root, because that is what runs.
    fn keep(&mut self, root: &Path, path: &Path) {
        let mut next = path.to_owned();
        for _ in 0..MOST_LINKS {
            let target = target_of(&next);
            self.links.extend(next.is_symlink().then(|| next.clone()));
            self.kept.push(Kept { path: next, now: Existing::Present });
            // One that leads to a folder around itself would keep all of that.
            let inside = |target: &PathBuf| target.starts_with(root) && !path.starts_with(target);
            match target.filter(inside).filter(|target| is_there(target)) {
                None => return,
                Some(repository) if path.ends_with(".git") && !repository.is_symlink() => {
                    self.repository(root, &repository, Placeholder::Yes);
                    return self.repositories.push(repository);
                }
                Some(target) => next = target,
            }
        }
    }

    /// Git runs what these name.
    fn repository(&mut self, root: &Path, git: &Path, placeholder: Placeholder) {
        let names = [
            ("hooks", Existing::MissingDirectory),
            ("config", Existing::MissingFile),
            ("config.worktree", Existing::MissingFile),
            ("info/attributes", Existing::MissingFile),
        ];
        for (name, missing) in names {
            let path = git.join(name);
            match (is_there(&path), placeholder) {
                (true, _) => self.keep(root, &path),
                // What git makes of itself when it needs it is no way in without the first two.
                (false, Placeholder::Yes) if matches!(name, "hooks" | "config") => {
                    self.kept.push(Kept { path, now: missing });
                }
                (false, _) => {}
            }
        }
        let modules = std::fs::read_dir(git.join("modules")).into_iter().flatten();
        for module in modules.filter_map(Result::ok) {
            self.repository(root, &module.path(), Placeholder::No);
        }
    }
}

/// Whether there is something of the person's: what another command put there to be in the way is
/// nothing.
fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok() && !is_placeholder(path)
}

/// Where a link leads with its next step: the folder as the kernel finds it, the name as it is.
fn target_of(link: &Path) -> Option<PathBuf> {
    let target = link.parent()?.join(std::fs::read_link(link).ok()?);
    Some(target.parent()?.canonicalize().ok()?.join(target.file_name()?))
}

#[derive(Clone, Copy, PartialEq)]
enum Descend {
    Yes,
    No,
}

#[derive(Clone, Copy, PartialEq)]
enum Placeholder {
    Yes,
    No,
}

/// The repository of a linked worktree, if it knows of the worktree too: a `.git` file can say
/// anything, and must not open a directory that does not answer for it.
fn worktree_of(file: &Path) -> Option<PathBuf> {
    let read = |path: &Path| crate::state::read_text(path, 4096).ok().flatten();
    let text = read(file)?;
    let private = PathBuf::from(text.strip_prefix("gitdir: ")?.trim_end());
    let answer = read(&private.join("gitdir"))?;
    let common = private.parent()?.parent()?;
    let is_worktree = private.parent()?.file_name()? == "worktrees";
    (is_worktree && private.is_absolute() && Path::new(answer.trim_end()) == file)
        .then(|| common.to_owned())
}

#[cfg(test)]
mod tests;
