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
    let mut writable = roots;
    writable.extend(settings.writable.iter().filter_map(|path| path.canonicalize().ok()));
    writable.append(&mut scan.repositories);
    let mut hidden = scan.hidden;
    hidden.extend(sandbox.own().iter().filter(|path| path.exists()).cloned());
    hidden.extend(toolchains::secrets());
    let mut readable = toolchains::readable(environment);
    readable.append(&mut scan.linked);
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
    if scan.seen > MOST_ENTRIES {
        gaps.push(format!(
            "the workspace is larger than {MOST_ENTRIES} names; of the rest, denied and protected \
             files are not kept from the command"
        ));
    }
    Plan { walls, gaps }
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
            self.hidden.push(path.to_owned());
            return Descend::No;
        }
        if name == ".git" && is_directory {
            let missing =
                if path.parent() == Some(root) { Placeholder::Yes } else { Placeholder::No };
            self.repository(path, missing);
            self.repositories.push(path.to_owned());
            return Descend::No;
        }
        if name == ".git" {
            self.linked.extend(worktree_of(path));
        }
        if protected && is_there(path) {
            self.kept.push(Kept { path: path.to_owned(), now: Existing::Present });
            return Descend::No;
        }
        descend
    }

    /// Git runs what these name.
    fn repository(&mut self, git: &Path, placeholder: Placeholder) {
        let names = [
            ("hooks", Existing::MissingDirectory),
            ("config", Existing::MissingFile),
            ("config.worktree", Existing::MissingFile),
            ("info/attributes", Existing::MissingFile),
        ];
        for (name, missing) in names {
            let path = git.join(name);
            match (is_there(&path), placeholder) {
                (true, _) => self.kept.push(Kept { path, now: Existing::Present }),
                // What git makes of itself when it needs it is no way in without the first two.
                (false, Placeholder::Yes) if matches!(name, "hooks" | "config") => {
                    self.kept.push(Kept { path, now: missing });
                }
                (false, _) => {}
            }
        }
        let modules = std::fs::read_dir(git.join("modules")).into_iter().flatten();
        for module in modules.filter_map(Result::ok) {
            self.repository(&module.path(), Placeholder::No);
        }
    }
}

/// Whether there is something of the person's: what another command put there to be in the way is
/// nothing.
fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok() && !is_placeholder(path)
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
mod tests {
    use super::*;
    use crate::sandbox::SandboxSettings;

    fn check(make: &[&str], kept: &[(&str, Existing)], hidden: &[&str]) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in make {
            let path = root.join(name.trim_end_matches('/'));
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            match name.ends_with('/') {
                true => std::fs::create_dir_all(path).unwrap(),
                false => std::fs::write(path, "").unwrap(),
            }
        }
        let sandbox = Sandbox::new(&SandboxSettings::rooted_at(&root)).unwrap();
        let plan = plan(&sandbox, &CommandSettings::default(), Backend::Namespaces, &[]);
        let mut found: Vec<_> = plan.walls.kept.iter().map(|k| (k.path.clone(), k.now)).collect();
        found.sort_by(|a, b| a.0.cmp(&b.0));
        let expected: Vec<_> = kept.iter().map(|(name, now)| (root.join(name), *now)).collect();
        assert_eq!(found, expected, "{make:?}");
        let mut found: Vec<_> = plan.walls.hidden.iter().filter(|p| p.starts_with(&root)).collect();
        found.sort();
        let expected: Vec<_> = hidden.iter().map(|name| root.join(name)).collect();
        assert_eq!(found, expected.iter().collect::<Vec<_>>(), "{make:?}");
    }

    #[test]
    fn what_the_file_tools_refuse_is_kept_or_hidden() {
        use Existing::{MissingDirectory, MissingFile, Present};
        check(&[], &[(".journeyman", MissingDirectory)], &[]);
        let cases =
            [(".git/config", MissingFile), (".git/hooks", Present), (".journeyman", Present)];
        check(&[".git/hooks/", ".journeyman/config.toml"], &cases, &[]);
        check(
            &["sub/.vscode/tasks.json", "sub/.env", "a/b/id_rsa", "src/main.rs", ".envrc"],
            &[(".envrc", Present), (".journeyman", MissingDirectory), ("sub/.vscode", Present)],
            &["a/b/id_rsa", "sub/.env"],
        );
    }

    #[test]
    fn a_worktree_opens_its_repository_only_when_that_knows_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let private = root.join("main/.git/worktrees/w");
        std::fs::create_dir_all(&private).unwrap();
        std::fs::create_dir(root.join("w")).unwrap();
        let file = root.join("w/.git");
        std::fs::write(&file, format!("gitdir: {}\n", private.display())).unwrap();
        assert_eq!(worktree_of(&file), None);
        std::fs::write(private.join("gitdir"), format!("{}\n", file.display())).unwrap();
        assert_eq!(worktree_of(&file), Some(root.join("main/.git")));
        std::fs::write(&file, "gitdir: /etc\n").unwrap();
        assert_eq!(worktree_of(&file), None);
    }
}
